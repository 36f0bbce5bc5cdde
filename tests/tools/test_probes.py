"""Which tests are asked about a mutant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutation import mutants
from tools.probes import Known, measured, ordered, probed
from tools.sandbox import SOURCE

MODULE = Path("openmsmq/engine/messages/cursor.py")
OWN = "tests/unit/engine/messages/test_cursor.py::test_a"
NEAR = "tests/unit/engine/messages/test_received.py::test_b"
UNIT = "tests/unit/engine/test_manager.py::test_c"
TEXT = """
def function(items):
    "Said."
    if items == 1:
        del items[0]
    elif items != 2:
        try:
            return items[3]
        except KeyError:
            raise
    match items:
        case [first] if first < 4:
            items.clear()
"""


def test_the_tests_of_the_module_and_quick_ones_come_first() -> None:
    assert ordered([UNIT, NEAR, OWN], MODULE, {}) == [OWN, NEAR, UNIT]
    long = {OWN: 10.0, NEAR: 0.5, UNIT: 0.01}
    assert ordered([UNIT, NEAR, OWN], MODULE, long) == [UNIT, NEAR, OWN]
    mutant = next(mutants(TEXT, MODULE))
    assert Known({mutant: {UNIT, OWN}}).of(mutant) == [OWN, UNIT]
    assert Known().of(mutant) == []


def test_a_probe_is_called_before_the_statement_that_a_mutant_changes() -> None:
    wanted = ("items == 1", "del items[0]", "3", "raise", "first < 4")
    found = [mutant for mutant in mutants(TEXT, MODULE) if mutant.before in wanted]
    assert (
        probed(TEXT, dict(enumerate(found)))
        == """
def function(items):
    '''Said.'''
    __probe__(0)
    if items == 1:
        __probe__(1)
        del items[0]
    elif items != 2:
        try:
            __probe__(2)
            __probe__(3)
            return items[3]
        except KeyError:
            __probe__(4)
            raise
    __probe__(5)
    match items:
        case [first] if first < 4:
            items.clear()
""".strip().replace("'''", '"' * 3)
    )


@pytest.mark.slow
def test_the_tests_that_run_a_statement_are_found() -> None:
    file = "tests/unit/engine/messages/test_cursor.py"
    drawn = [
        mutant
        for mutant in mutants((SOURCE / MODULE).read_text(), MODULE)
        if mutant.function == "QueueCursor.seek_peek"
    ]
    known = measured(drawn, 1, [file])
    assert known.tests.keys() == set(drawn)
    new = f"{file}::test_a_new_cursor_is_before_the_first_message"
    assert all(new in tests for tests in known.tests.values())
    assert set().union(*known.tests.values()) < known.seconds.keys()
    assert all(seconds > 0 for seconds in known.seconds.values())
