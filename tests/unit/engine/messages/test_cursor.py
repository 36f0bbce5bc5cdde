"""The states of a cursor, one row of the table after the other ([MS-MQDMPR] 3.2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmsmq.engine.messages.cursor import CursorState, QueueCursor
from openmsmq.errors import IllegalCursorAction, MessageAlreadyReceived

Move = Callable[[QueueCursor], object]


def in_state(state: CursorState, position: int = 10) -> QueueCursor:
    """A cursor that got into a state by the moves that lead there."""
    cursor = QueueCursor()
    cursor.received(position)
    if state is CursorState.READ:
        cursor.peeked(position)
    elif state is CursorState.WAIT_PEEK:
        cursor.wait(20, destructive=False)
    elif state is CursorState.WAIT_RECEIVE:
        cursor.wait(20, destructive=True)
    assert cursor.state is state
    return cursor


def test_a_new_cursor_is_before_the_first_message() -> None:
    """DMPR-045, DMPR-247."""
    cursor = QueueCursor()
    assert (cursor.state, cursor.position, cursor.closed) == (CursorState.UNREAD, 0, False)
    assert cursor.seek_peek() == cursor.seek_receive() == 0


def test_an_unread_cursor_seeks_behind_its_position() -> None:
    """DMPR-248, DMPR-256."""
    cursor = in_state(CursorState.UNREAD)
    assert cursor.seek_peek() == cursor.seek_receive() == 10


def test_an_unread_cursor_has_no_next_message() -> None:
    """DMPR-252."""
    cursor = in_state(CursorState.UNREAD)
    with pytest.raises(IllegalCursorAction) as info:
        cursor.seek_peek_next()
    assert info.value.hresult == 0xC00E001C
    assert (cursor.state, cursor.position) == (CursorState.UNREAD, 10)


def test_a_cursor_that_has_read_looks_where_it_is_and_goes_on_from_there() -> None:
    """DMPR-249, DMPR-253, DMPR-254."""
    cursor = in_state(CursorState.READ)
    assert cursor.seek_peek() is None
    assert cursor.seek_receive() is None
    assert cursor.seek_peek_next() == 10


@pytest.mark.parametrize("state", CursorState, ids=lambda state: state.name)
def test_a_message_found_puts_the_cursor_on_it(state: CursorState) -> None:
    """At once or after waiting, even before the old place (DMPR-259, DMPR-400)."""
    peeked = in_state(state)
    peeked.peeked(5)
    assert (peeked.state, peeked.position) == (CursorState.READ, 5)
    received = in_state(state)
    received.received(5)
    assert (received.state, received.position) == (CursorState.UNREAD, 5)


@pytest.mark.parametrize("before", [CursorState.UNREAD, CursorState.READ])
def test_a_cursor_that_finds_nothing_waits(before: CursorState) -> None:
    """DMPR-251, DMPR-253, DMPR-258."""
    peeking = in_state(before)
    peeking.wait(20, destructive=False)
    assert (peeking.state, peeking.position) == (CursorState.WAIT_PEEK, 10)
    receiving = in_state(before)
    receiving.wait(20, destructive=True)
    assert (receiving.state, receiving.position) == (CursorState.WAIT_RECEIVE, 10)


def test_a_receive_that_waited_in_vain_leaves_the_cursor_at_the_end() -> None:
    """Behind all that was there to be passed (DMPR-045, DMPR-260)."""
    cursor = in_state(CursorState.WAIT_RECEIVE)
    cursor.give_up()
    assert (cursor.state, cursor.position) == (CursorState.UNREAD, 20)


def test_a_cursor_never_goes_back_because_it_waited() -> None:
    cursor = QueueCursor()
    cursor.received(30)
    cursor.wait(20, destructive=True)
    cursor.give_up()
    assert cursor.position == 30


def test_a_peek_that_waited_in_vain_leaves_the_cursor_where_it_was() -> None:
    """DMPR-261."""
    cursor = in_state(CursorState.WAIT_PEEK)
    cursor.give_up()
    assert (cursor.state, cursor.position) == (CursorState.UNREAD, 10)


@pytest.mark.parametrize("state", [CursorState.WAIT_PEEK, CursorState.WAIT_RECEIVE])
@pytest.mark.parametrize(
    "move", [QueueCursor.seek_peek, QueueCursor.seek_peek_next, QueueCursor.seek_receive]
)
def test_a_second_read_is_refused_while_one_waits(state: CursorState, move: Move) -> None:
    cursor = in_state(state)
    with pytest.raises(IllegalCursorAction):
        move(cursor)
    assert (cursor.state, cursor.position) == (state, 10)


def test_a_message_taken_by_another_reader_has_its_own_error() -> None:
    assert isinstance(QueueCursor().gone(), MessageAlreadyReceived)
    assert QueueCursor().gone().hresult == 0xC00E001D
