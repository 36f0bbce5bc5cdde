"""The tests that cite a rule notice when the function of the rule does nothing.

That holds where it can be asked: the number is called done, a function or class cites its section,
and a quick test cites the number. Some are drawn for `make test`; `make torture` asks about all.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from tools.generate_docs import NOT_IN_USE, numbers, reasons
from tools.rules import Rule, Witnesses, rules
from tools.sandbox import SOURCE, find

DRAWN = 30
BY_NUMBER = {rule.number: rule for rule in rules()}
UNSEEN = frozenset(numbers(Path(__file__).with_name("unseen_rules.txt").read_text()))
"No test was seen yet to notice these: to be looked at one by one."
UNHURT = frozenset(
    {
        *("MQQB-071", "MQQB-294", "MQQB-310", "MQQB-373"),
        *("DMPR-044", "DMPR-069", "DMPR-093", "DMPR-096", "DMPR-255"),
        *("MQRR-013", "MQRR-016", "MQRR-338"),
    }
)
"What holds if nothing is done: something is left alone, stays where it is, or is a constant."


def unnoticed(asked: Sequence[Rule], folder: Path) -> list[str]:
    """Numbers of rules none of whose functions its tests miss, with what was asked."""
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
    assert not unused & BY_NUMBER.keys()


def test_every_function_of_a_rule_can_do_nothing() -> None:
    functions = {function for rule in rules() for function in rule.functions}
    modules = {function.module for function in functions}
    trees = {module: ast.parse((SOURCE / module).read_text()) for module in modules}
    for function in functions:
        assert find(trees[function.module], function.name).body


def test_functions_near_the_tests_are_asked_first() -> None:
    rule = BY_NUMBER["MQQB-013"]
    assert str(rule.functions[0]) == "openmsmq/packet/headers/base.py:BaseHeader.read"
    tests = "tests/unit/packet/headers/test_base.py"
    assert rule.tests[0] == f"{tests}::test_another_version_is_refused"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rules_that_are_drawn_are_noticed(tmp_path: Path) -> None:
    """Others on every run: what fails is named, and `make torture` asks about it again."""
    numbers = random.SystemRandom().sample(sorted(BY_NUMBER.keys() - UNHURT - UNSEEN), DRAWN)
    assert unnoticed([BY_NUMBER[number] for number in numbers], tmp_path) == []


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_every_rule_is_noticed(tmp_path: Path) -> None:
    numbers = sorted(BY_NUMBER.keys() - UNHURT - UNSEEN)
    assert unnoticed([BY_NUMBER[number] for number in numbers], tmp_path) == []


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_what_is_listed_as_unseen_is_not_noticed(tmp_path: Path) -> None:
    """What is noticed by now can be struck from the list."""
    listed = [BY_NUMBER[number] for number in sorted(UNSEEN & BY_NUMBER.keys())]
    assert len(unnoticed(listed, tmp_path)) == len(listed)
