"""The tests that cite a rule notice when the function of the rule does nothing.

That holds where it can be asked: the number is called done, a function or class cites its section,
and a quick test cites the number. `make test` draws some of those that were noticed before, and
`make torture` asks about all.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from tools.generate_docs import NOT_IN_USE, reasons
from tools.rules import SEEN, UNHURT, UNSEEN, Rule, Witnesses, listed, rules, write_seen
from tools.sandbox import SOURCE, find

from tools import rules as tool

DRAWN = 30


@cache
def by_number() -> dict[str, Rule]:
    """Every rule that can be asked about; to find them takes seconds."""
    return {rule.number: rule for rule in rules()}


def unnoticed(asked: Sequence[Rule], folder: Path) -> list[str]:
    """Numbers of rules none of whose functions its tests miss, with what was asked."""
    if not asked:
        return []
    with Witnesses(asked, folder) as witnesses:
        return [
            f"{rule.number}: {', '.join(map(str, rule.functions))} can do nothing: {rule.tests}"
            for rule in asked
            if witnesses.noticed(rule) is None
        ]


def test_there_is_much_to_ask() -> None:
    assert len(rules()) > 400
    assert all(rule.functions and rule.tests for rule in rules())


def test_what_is_not_in_use_is_not_asked_about() -> None:
    unused = {
        n for name in ("mqqb", "dmpr") for n, r in reasons(name).items() if r.state == NOT_IN_USE
    }
    assert unused
    assert not unused & by_number().keys()


def test_every_function_of_a_rule_can_do_nothing() -> None:
    functions = {function for rule in rules() for function in rule.functions}
    modules = {function.module for function in functions}
    trees = {module: ast.parse((SOURCE / module).read_text()) for module in modules}
    for function in functions:
        assert find(trees[function.module], function.name).body


def test_functions_near_the_tests_are_asked_first() -> None:
    rule = by_number()["MQQB-013"]
    assert str(rule.functions[0]) == "openmsmq/packet/headers/base.py:BaseHeader.read"
    tests = "tests/unit/packet/headers/test_base.py"
    assert rule.tests[0] == f"{tests}::test_another_version_is_refused"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rules_that_are_drawn_are_noticed(tmp_path: Path) -> None:
    """Others on every run: what fails is named, and `make torture` asks about it again."""
    numbers = random.SystemRandom().sample(sorted(by_number().keys() & listed(SEEN)), DRAWN)
    assert unnoticed([by_number()[number] for number in numbers], tmp_path) == []


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_every_rule_is_noticed(tmp_path: Path) -> None:
    numbers = sorted(by_number().keys() - listed(UNHURT) - listed(UNSEEN))
    assert unnoticed([by_number()[number] for number in numbers], tmp_path) == []


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("path", [UNSEEN, UNHURT], ids=["unseen", "unhurt"])
def test_what_is_listed_is_not_noticed(path: Path, tmp_path: Path) -> None:
    """What is noticed by now can be struck from the list."""
    still = [by_number()[number] for number in sorted(listed(path) & by_number().keys())]
    assert len(unnoticed(still, tmp_path)) == len(still)


def test_numbers_are_written_as_ranges_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "seen.txt"
    path.write_text("# What was seen, such as MQQB-999.\n")
    monkeypatch.setattr(tool, "SEEN", path)
    seen = {"MQQB-001", "MQQB-002", "MQQB-003", "MQQB-010", "DMPR-004"}
    write_seen(seen)
    write_seen(seen)
    assert path.read_text() == (
        "# What was seen, such as MQQB-999.\n\nDMPR-004\n\nMQQB-001..003, MQQB-010\n"
    )
    assert listed(path) == seen


def test_a_number_that_is_in_no_list_is_to_be_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "seen.txt"
    path.write_text(", ".join(listed(SEEN) - {"MQQB-013"}))
    monkeypatch.setattr(tool, "SEEN", path)
    assert [rule.number for rule in tool.not_asked()] == ["MQQB-013"]
