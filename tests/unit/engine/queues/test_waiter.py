"""Reads that wait for messages."""

from __future__ import annotations

from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.cursor import CursorState, QueueCursor
from openmsmq.engine.queues.waiter import Waiter


def test_a_waiter_that_gives_up_ends_the_wait_of_its_cursor() -> None:
    cursor = QueueCursor()
    cursor.wait(5, destructive=False)
    Waiter(lambda fresh: False, Future(), object(), cursor).give_up()
    assert cursor.state is CursorState.UNREAD


def test_a_waiter_without_a_cursor_has_nothing_to_give_up() -> None:
    Waiter(lambda fresh: False, Future(), object()).give_up()
