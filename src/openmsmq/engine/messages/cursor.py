"""Cursors: a place in a queue that one reader walks along ([MS-MQDMPR] 3.2)."""

from __future__ import annotations

from enum import Enum, auto

from openmsmq.errors import IllegalCursorAction, MessageAlreadyReceived


class CursorState(Enum):
    """CursorState ([MS-MQDMPR] 3.2.1.2)."""

    UNREAD = auto()
    "Before the next message; the position is the last one passed."
    READ = auto()
    "On the message at the position."
    WAIT_PEEK = auto()
    WAIT_RECEIVE = auto()


class QueueCursor:
    """Where a reader stands ([MS-MQDMPR] 3.1.1.2).

    A lookup identifier, which outlives the message it named (A-08).
    """

    __slots__ = ("closed", "passed", "position", "state")

    def __init__(self) -> None:
        """Initialize ([MS-MQDMPR] 3.2.7.1): before the first message."""
        self.position = 0
        self.passed = 0
        "The last message there was when a read began to wait."
        self.state = CursorState.UNREAD
        self.closed = False

    def require_idle(self) -> None:
        """Refuse a second read while one waits (A-20)."""
        if self.state in (CursorState.WAIT_PEEK, CursorState.WAIT_RECEIVE):
            raise IllegalCursorAction("another read with this cursor is waiting")

    def seek_peek(self) -> int | None:
        """Get Message For Peek ([MS-MQDMPR] 3.2.7.2): seek after this; None: look where it is."""
        self.require_idle()
        return self.position if self.state is CursorState.UNREAD else None

    def seek_peek_next(self) -> int:
        """Get Next Message For Peek ([MS-MQDMPR] 3.2.7.3): seek after this."""
        self.require_idle()
        if self.state is CursorState.UNREAD:
            raise IllegalCursorAction("peek at the current message before the next")
        return self.position

    def seek_receive(self) -> int | None:
        """Get Next Message For Dequeue ([MS-MQDMPR] 3.2.7.4): as `seek_peek`."""
        self.require_idle()
        return self.position if self.state is CursorState.UNREAD else None

    def peeked(self, lookup: int) -> None:
        """A message was found for a peek, at once or after waiting ([MS-MQDMPR] 3.2.7.5)."""
        self.position = lookup
        self.state = CursorState.READ

    def received(self, lookup: int) -> None:
        """A message was found for a receive, at once or after waiting ([MS-MQDMPR] 3.2.7.5)."""
        self.position = lookup
        self.state = CursorState.UNREAD

    def wait(self, last: int, *, destructive: bool) -> None:
        """Nothing was found up to message `last`; the reader waits."""
        self.passed = last
        self.state = CursorState.WAIT_RECEIVE if destructive else CursorState.WAIT_PEEK

    def give_up(self) -> None:
        """Wait Time Expired ([MS-MQDMPR] 3.2.7.6).

        A receive leaves the cursor at the end of the queue, which is behind the last message
        that was there to be passed (A-19).
        """
        if self.state is CursorState.WAIT_RECEIVE:
            self.position = max(self.position, self.passed)
        self.state = CursorState.UNREAD

    def gone(self) -> MessageAlreadyReceived:
        """What to raise when the message under it is gone ([MS-MQDMPR] 3.1.7.1.15)."""
        return MessageAlreadyReceived("the message under the cursor was taken by another reader")
