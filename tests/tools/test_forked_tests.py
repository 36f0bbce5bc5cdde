"""Tests that are collected once and asked about many changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.forked_tests import ForkedTests
from tools.sandbox import SOURCE, Outcome, without_effect

MODULE = Path("openmsmq/engine/messages/cursor.py")
TEST = "tests/unit/engine/messages/test_cursor.py"
TEXT = (SOURCE / MODULE).read_text()


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedTests]:
    with ForkedTests([TEST]) as tests:
        yield tests


@pytest.mark.slow
def test_tests_fail_with_a_change_and_pass_again_without_it(forked: ForkedTests) -> None:
    assert forked.count > 10
    assert forked.passes([TEST], timeout=200)
    wrong = without_effect(TEXT, "QueueCursor.peeked")
    asked = [forked.ask(MODULE, text, [TEST], timeout=200) for text in (wrong, TEXT, wrong)]
    assert asked == [Outcome.FAILED, Outcome.PASSED, Outcome.FAILED]


@pytest.mark.slow
def test_only_the_tests_that_are_named_are_run(forked: ForkedTests) -> None:
    wrong = without_effect(TEXT, "QueueCursor.peeked")
    one = f"{TEST}::test_a_new_cursor_is_before_the_first_message"
    assert forked.ask(MODULE, wrong, [one], timeout=200) is Outcome.PASSED
    assert forked.ask(MODULE, wrong, [f"{TEST}::test_none"], timeout=200) is Outcome.NO_TESTS


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "no Python",
        "class QueueCursor: ...",
        TEXT.replace("def peeked(", "def peeked(self): ...\n\n    def peeked("),
    ],
)
def test_what_cannot_be_changed_in_a_running_process_is_not_answered(
    forked: ForkedTests, text: str
) -> None:
    assert forked.ask(MODULE, text, [TEST], timeout=200) is Outcome.STOPPED


@pytest.mark.slow
def test_a_module_without_functions_is_not_answered(forked: ForkedTests) -> None:
    """All tests would pass, whatever its text says."""
    module = Path("openmsmq/limits.py")
    text = (SOURCE / module).read_text()
    assert "def " not in text
    assert forked.ask(module, text, [TEST], timeout=200) is Outcome.STOPPED


@pytest.mark.slow
def test_a_change_that_never_ends_is_noticed(forked: ForkedTests) -> None:
    endless = TEXT.replace("self.position = lookup", "while True: ...", 1)
    assert endless != TEXT
    assert forked.ask(MODULE, endless, [TEST], timeout=5) is Outcome.FAILED


@pytest.mark.slow
def test_tests_that_cannot_be_collected_are_said_so() -> None:
    with pytest.raises(RuntimeError, match=r"cannot collect tests/none\.py"):
        ForkedTests(["tests/none.py"])
