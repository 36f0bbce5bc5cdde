"""Which tests are asked about a line."""

from __future__ import annotations

from pathlib import Path

from coverage import CoverageData
from tools.coverage_map import chosen, read

MODULE = Path("openmsmq/engine/queues/queue.py")
OWN = "tests/unit/engine/queues/test_queue.py::test_a"
NEAR = "tests/unit/engine/queues/test_registry.py::test_b"
UNIT = "tests/unit/engine/test_manager.py::test_c"
PROPERTY = "tests/property/test_queues.py::test_d"


def test_the_tests_of_the_module_come_first() -> None:
    assert chosen([PROPERTY, UNIT, NEAR, OWN], MODULE, 100) == [OWN, NEAR, UNIT, PROPERTY]


def test_of_too_many_the_nearest_are_asked_and_some_of_the_others() -> None:
    many = [f"{NEAR}{number}" for number in range(50)]
    found = chosen([*many, OWN, PROPERTY], MODULE, 8)
    assert (found[0], found[-1], len(found)) == (OWN, PROPERTY, 8)


def test_what_coverage_wrote_is_read_by_module_and_line(tmp_path: Path) -> None:
    data = CoverageData(str(tmp_path / "data"))
    file = "/somewhere/src/openmsmq/engine/queues/queue.py"
    for context, lines in ((f"{OWN}|run", [1, 2]), (f"{NEAR}[a|b]|run", [2]), ("", [3])):
        data.set_context(context)
        data.add_lines({file: lines})
    data.write()
    lines_of = read(tmp_path / "data")[MODULE]
    assert lines_of == {
        1: frozenset({OWN}),
        2: frozenset({OWN, f"{NEAR}[a|b]"}),
        3: frozenset(),
    }
