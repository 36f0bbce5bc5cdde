"""Which tests are asked about a line, and what is measured again."""

from __future__ import annotations

from pathlib import Path

import pytest
from coverage import CoverageData
from tools.coverage_map import CoverageMap, coverage_map, ordered, span_at, spans, take_in

from tools import coverage_map as maps

MODULE = Path("openmsmq/engine/queues/queue.py")
OWN = "tests/unit/engine/queues/test_queue.py::test_a"
NEAR = "tests/unit/engine/queues/test_registry.py::test_b"
UNIT = "tests/unit/engine/test_manager.py::test_c"
TEXT = """
LINE = 1

class A:
    def one(self):
        x = 1
        return x

    async def two(self):
        def inner():
            return 2
        return inner
"""


def test_the_tests_of_the_module_and_quick_ones_come_first() -> None:
    assert ordered([UNIT, NEAR, OWN], MODULE, {}) == [OWN, NEAR, UNIT]
    long = {OWN: 10.0, NEAR: 0.5, UNIT: 0.01}
    assert ordered([UNIT, NEAR, OWN], MODULE, long) == [UNIT, NEAR, OWN]


def test_functions_are_found_by_their_lines() -> None:
    found = spans(TEXT)
    assert [span.name for span in found] == ["A.one", "A.two", "A.two.inner"]
    names = [span and span.name for span in (span_at(found, line) for line in (2, 6, 11, 12))]
    assert names == [None, "A.one", "A.two.inner", "A.two"]
    moved = spans(f"# a line more{TEXT}")
    assert [span.digest for span in moved] == [span.digest for span in found]


def source(folder: Path, text: str = TEXT) -> Path:
    file = folder / MODULE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return folder


def measured(folder: Path, *runs: tuple[str, list[int]]) -> CoverageData:
    data = CoverageData(str(folder / "data"))
    for context, lines in runs:
        data.set_context(context)
        data.add_lines({f"/somewhere/src/{MODULE}": lines})
    data.write()
    return data


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CoverageMap:
    """A map of two tests, which run one line each of a function, and another together."""
    monkeypatch.setattr(maps, "SOURCE", source(tmp_path))
    found = CoverageMap(seconds={OWN: 0.1, f"{NEAR}[a|b]": 0.2})
    runs = (f"{OWN}|run", [6, 7]), (f"{NEAR}[a|b]|run", [7]), ("", [2])
    found.add(measured(tmp_path, *runs), tmp_path)
    return found


def test_the_tests_of_a_line_are_known(known: CoverageMap) -> None:
    assert known.tests(MODULE, 6) == {OWN}
    assert known.tests(MODULE, 7) == {OWN, f"{NEAR}[a|b]"}
    assert known.tests(MODULE, 2) == known.tests(MODULE, 12) == set()


def test_a_change_elsewhere_moves_no_line(known: CoverageMap, tmp_path: Path) -> None:
    source(tmp_path, f"# a line more{TEXT}")
    assert known.tests(MODULE, 6) == {OWN}
    source(tmp_path, f"# a line more\n{TEXT}")
    assert known.tests(MODULE, 7) == {OWN}


def test_all_tests_of_a_function_that_has_changed_are_asked(
    known: CoverageMap, tmp_path: Path
) -> None:
    source(tmp_path, TEXT.replace("x = 1", "x = 2"))
    assert known.tests(MODULE, 6) == {OWN, f"{NEAR}[a|b]"}
    known.add(measured(tmp_path / "", (f"{UNIT}|run", [6])), tmp_path)
    assert known.tests(MODULE, 6) == {OWN, f"{NEAR}[a|b]", UNIT}


def test_the_tests_of_a_file_that_has_changed_are_struck(known: CoverageMap) -> None:
    known.forget([OWN.partition("::")[0]])
    assert known.tests(MODULE, 7) == {f"{NEAR}[a|b]"}
    assert OWN not in known.seconds


def test_only_test_files_that_have_changed_are_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(maps, "ROOT", tmp_path)
    monkeypatch.setattr(maps, "measure", lambda _, __, tests: asked.append(list(tests)))
    monkeypatch.setattr(maps, "take_in", lambda _, __: None)
    (tmp_path / "tests").mkdir()
    one, two = (tmp_path / "tests" / f"test_{name}.py" for name in ("one", "two"))
    one.write_text("1")
    two.write_text("2")
    for _ in range(2):
        coverage_map(1, ["tests"], tmp_path / "build" / "map")
    two.write_text("3")
    one.unlink()
    known = coverage_map(1, ["tests"], tmp_path / "build" / "map")
    assert asked == [["tests/test_one.py", "tests/test_two.py"], ["tests/test_two.py"]]
    assert list(known.files) == ["tests/test_two.py"]


def test_times_are_read_from_the_report(tmp_path: Path) -> None:
    case = '<testcase file="tests/test_x.py" name="test_a[1]" time="0.25"/>'
    (tmp_path / "times.xml").write_text(f"<testsuites>{case}</testsuites>")
    data = CoverageData(str(tmp_path / "coverage"))
    data.add_lines({})
    data.write()
    known = CoverageMap()
    take_in(known, tmp_path)
    assert known.seconds == {"tests/test_x.py::test_a[1]": 0.25}
