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
    WIDER,
    Kills,
    Verdict,
    equivalent,
    judged,
    modules,
    try_all,
    wider,
)
from tools.mutation import Mutant, mutants
from tools.probes import Known
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


def test_the_simulator_and_the_models_that_are_asked_exist() -> None:
    for test in {test for tests in WIDER.values() for test in tests}:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text() if name else (ROOT / file).exists()
    assert wider(Path("openmsmq/transports/pgm/source.py")) == ["tests/property/test_pgm.py"]
    assert wider(Path("openmsmq/transports/timer.py")) == [SIMULATOR]


def test_tests_that_noticed_most_are_asked_first(tmp_path: Path) -> None:
    found = mutants((SOURCE / MODULE).read_text(), MODULE)
    kills = Kills()
    for mutant, by in zip(found, ("b", "c", "c"), strict=False):
        kills.add(Verdict(mutant, Outcome.FAILED, by))
    kills.add(Verdict(next(found), Outcome.PASSED, "a"))
    kills.write(tmp_path / "kills.json")
    again = Kills.read(tmp_path / "kills.json")
    assert again.first(["a", "b", "c", "d"], MODULE) == ["c", "b", "a", "d"]
    assert again.first(["a", "b"], Path("other.py")) == ["a", "b"]
    assert Kills.read(tmp_path / "none.json") == Kills()


def test_what_was_noticed_is_known_until_its_module_or_its_test_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.mutants, "ROOT", tmp_path)
    monkeypatch.setattr(tools.mutants, "SOURCE", tmp_path)
    (tmp_path / "a.py").write_text("def f(x): return x < 1\n")
    (tmp_path / "test_a.py").write_text("as it was")
    found, other, *_ = mutants((tmp_path / "a.py").read_text(), Path("a.py"))
    verdict, kills = Verdict(found, Outcome.FAILED, "test_a.py::test_f[1]"), Kills()
    kills.add(verdict)
    assert (kills.known(found), kills.known(other)) == (verdict, None)
    (tmp_path / "test_a.py").write_text("another")
    assert kills.known(found) is None
    kills.add(verdict)
    (tmp_path / "a.py").write_text("def f(x): return x < 1  # another\n")
    assert kills.known(found) is None


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedTests]:
    with ForkedTests([TEST]) as tests:
        yield tests


def drawn_from(function: str) -> list[Mutant]:
    source = (SOURCE / MODULE).read_text()
    return [mutant for mutant in mutants(source, MODULE) if mutant.function == function]


def run_by(test: str, drawn: list[Mutant]) -> Known:
    """One test runs what some mutants change."""
    return Known({mutant: {test} for mutant in drawn}, {test: 0.1})


@pytest.mark.slow
def test_a_mutant_that_no_test_runs_survives(forked: ForkedTests) -> None:
    other = Path("openmsmq/engine/outgoing/sequences.py")
    mutant = next(mutants((SOURCE / other).read_text(), other))
    verdict = judged(mutant, ["tests/unit/engine/outgoing"], Kills(), forked)
    assert (verdict.outcome, verdict.is_killed) == (Outcome.NO_TESTS, False)
    assert "SURVIVED" in str(verdict)


@pytest.mark.slow
def test_what_the_tests_of_its_line_do_not_notice_is_given_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools.mutants, "near", lambda _: ["tests/unit/wire"])
    monkeypatch.setattr(tools.mutants, "TESTS", ("tests/unit/wire/test_reader.py",))
    monkeypatch.setattr(tools.mutants, "WIDER", {"engine": (TEST.partition("::")[0],)})
    found = drawn_from("QueueCursor.seek_peek")
    verdicts = list(try_all(found, Known(), Kills(), 1))
    assert {verdict.mutant for verdict in verdicts} == set(found)
    assert {verdict.by.partition("::")[0] for verdict in verdicts if verdict.is_killed} == {
        TEST.partition("::")[0]
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_fails_was_noticed(outcome: Outcome) -> None:
    found = next(mutants((SOURCE / MODULE).read_text(), MODULE))
    assert Verdict(found, outcome).is_killed is (outcome is Outcome.FAILED)


@pytest.mark.slow
def test_a_mutant_is_given_to_the_tests_of_its_line(forked: ForkedTests) -> None:
    source = (SOURCE / MODULE).read_text()
    found = drawn_from("QueueCursor.seek_peek")
    verdicts = [judged(mutant, [TEST], Kills(), forked) for mutant in found]
    assert {verdict.by for verdict in verdicts if verdict.is_killed} == {TEST}
    assert (SOURCE / MODULE).read_text() == source


@pytest.mark.slow
def test_a_test_that_fails_without_the_mutant_has_not_noticed_it(tmp_path: Path) -> None:
    file = tmp_path / "test_unsound.py"
    file.write_text("def test_always(): assert False\n")
    found = drawn_from("QueueCursor.seek_peek")[0]
    with ForkedTests([str(file)]) as forked:
        unsound = f"{file.name}::test_always"
        assert not forked.passes([unsound], timeout=60)
        kills = Kills()
        assert not judged(found, [unsound], kills, forked).is_killed
        assert kills.unsound == {unsound}


@pytest.mark.slow
def test_nor_does_it_keep_others_of_its_file_from_being_asked(tmp_path: Path) -> None:
    file = tmp_path / "test_unsound.py"
    file.write_text("def test_always(): assert False\n")
    asked = [file.name, TEST.partition("::")[0]]
    with ForkedTests([str(file), TEST.partition("::")[0]]) as forked:
        found = drawn_from("QueueCursor.seek_peek")
        assert any(judged(mutant, asked, Kills(), forked).is_killed for mutant in found)


@pytest.mark.acceptance
def test_all_that_were_drawn_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools.mutants, "WIDER", {"engine": (TEST,)})
    monkeypatch.setattr(tools.mutants, "TESTS", (TEST.partition("::")[0],))
    drawn = list(mutants((SOURCE / MODULE).read_text(), MODULE))[:4]
    known, kills = run_by(TEST, drawn), Kills()
    verdicts = list(try_all(drawn, known, kills, 1))
    assert {verdict.mutant for verdict in verdicts} == set(drawn)
    assert len(kills.found) == sum(one.is_killed for one in verdicts)
