"""Mutants are drawn, tried and counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tools.mutants
from tools.forked_tests import ForkedTests
from tools.mutants import (
    EQUIVALENT,
    NO_PART,
    SIMULATOR,
    Verdict,
    equivalent,
    judged,
    judged_wide,
    modules,
    try_all,
    wider,
)
from tools.mutation import mutants
from tools.sandbox import ROOT, SOURCE, Outcome

MODULE = Path("openmsmq/engine/messages/cursor.py")
TEST = "tests/unit/engine/messages/test_cursor.py::test_a_new_cursor_is_before_the_first_message"


def test_a_list_of_equivalent_ones_gives_reasons() -> None:
    text = "# said\n\na.py:f: x < y -> x <= y  # they are never equal\n"
    assert equivalent(text) == {"a.py:f: x < y -> x <= y": "they are never equal"}
    with pytest.raises(AssertionError, match="no reason"):
        equivalent("a.py:f: x < y -> x <= y")


def test_those_that_are_listed_exist() -> None:
    listed = equivalent(EQUIVALENT.read_text())
    files = {Path(name.partition(":")[0]) for name in listed}
    names = {m.name for module in files for m in mutants((SOURCE / module).read_text(), module)}
    assert sorted(listed.keys() - names) == [], "the code has changed: strike them"


def test_all_three_parts_have_mutants() -> None:
    parts = {module.parts[1] for module in modules()}
    assert parts == {"engine", "transports", "store"}


def test_what_is_left_out_is_a_module_that_no_other_part_needs() -> None:
    for module in NO_PART:
        assert (SOURCE / module).is_file()
        assert module not in modules()
        name = ".".join(module.with_suffix("").parts)
        assert not [path for path in modules() if name in (SOURCE / path).read_text()]


def test_the_models_that_are_asked_exist() -> None:
    for module in modules():
        *models, simulator = wider(module)
        assert simulator == SIMULATOR
        assert all((ROOT / model).is_file() for model in models)
    assert wider(Path("openmsmq/transports/pgm/source.py"))[:-1] == ["tests/property/test_pgm.py"]


@pytest.mark.slow
def test_what_the_tests_of_its_line_do_not_notice_is_given_to_models(
    forked: ForkedTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        mutant
        for mutant in mutants((SOURCE / MODULE).read_text(), MODULE)
        if mutant.function == "QueueCursor.seek_peek"
    ]
    survivors = [Verdict(mutant, Outcome.PASSED, 3) for mutant in found]
    monkeypatch.setattr(tools.mutants, "wider", lambda _: [TEST])
    verdicts = [judged_wide(verdict, forked) for verdict in survivors]
    assert any(verdict.is_killed for verdict in verdicts)
    assert {verdict.tests for verdict in verdicts} == {4}
    monkeypatch.setattr(tools.mutants, "WIDER_TIMEOUT", 0.0)
    late = [judged_wide(verdict, forked) for verdict in survivors]
    assert not any(verdict.is_killed for verdict in late), "to be late says nothing there"


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedTests]:
    with ForkedTests([TEST]) as tests:
        yield tests


@pytest.mark.slow
def test_a_mutant_that_no_test_runs_survives(forked: ForkedTests) -> None:
    other = Path("openmsmq/engine/outgoing/sequences.py")
    verdict = judged(next(mutants((SOURCE / other).read_text(), other)), {}, forked)
    assert (verdict.outcome, verdict.is_killed) == (Outcome.NO_TESTS, False)
    assert "SURVIVED" in str(verdict)


@pytest.mark.slow
def test_what_the_tests_of_its_folder_do_not_notice_is_given_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools.mutants, "near", lambda _: ["tests/unit/wire"])
    monkeypatch.setattr(tools.mutants, "FAR", (TEST.partition("::")[0],))
    source = (SOURCE / MODULE).read_text()
    found = [m for m in mutants(source, MODULE) if m.function == "QueueCursor.seek_peek"]
    with ForkedTests(["tests/unit/wire", *tools.mutants.FAR]) as forked:
        assert any(judged(m, {}, forked).is_killed for m in found)


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_fails_was_noticed(outcome: Outcome) -> None:
    found = next(mutants((SOURCE / MODULE).read_text(), MODULE))
    assert Verdict(found, outcome, 1).is_killed is (outcome is Outcome.FAILED)


@pytest.mark.slow
def test_a_mutant_is_given_to_the_tests_of_its_line(forked: ForkedTests) -> None:
    source = (SOURCE / MODULE).read_text()
    found = [m for m in mutants(source, MODULE) if m.function == "QueueCursor.seek_peek"]
    verdicts = [judged(m, {m.line: frozenset({TEST})}, forked) for m in found]
    assert any(verdict.is_killed for verdict in verdicts)
    assert (SOURCE / MODULE).read_text() == source


@pytest.mark.acceptance
def test_all_are_tried_in_the_order_in_which_they_were_drawn() -> None:
    drawn = list(mutants((SOURCE / MODULE).read_text(), MODULE))[:4]
    covered = {MODULE: {mutant.line: frozenset({TEST}) for mutant in drawn}}
    assert [verdict.mutant for verdict in try_all(drawn, covered, 1)] == drawn
