"""Durable subscriptions."""

from __future__ import annotations

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.client._async.backend import SubscriptionBackend
from openmsmq.errors import InvalidParameter
from openmsmq.limits import U64_MAX
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.subscriptions import Binding

COUNT = 10_000
"Messages that a call reserves by default."
SIZE_MAX = 256 * 1024 * 1024
"Their bytes."


class Subscription:
    """A durable consumer: reads a queue in steps that can be repeated, also after a crash.

    Positions number the messages that are reserved for the subscription, from 1. The same position
    is the same message until it is committed.

    A subscription that has an owner can be read and committed by that owner only. The owner binds
    it and marks what it has read; a commit removes no message that was not read.
    """

    def __init__(self, backend: SubscriptionBackend, name: str) -> None:
        self._backend = backend
        self.name = name

    @property
    def committed(self) -> int:
        """The last committed position."""
        return self._backend.committed

    @property
    def reserved(self) -> int:
        """The last reserved position."""
        return self._backend.reserved

    @property
    def owner(self) -> str:
        """The owner when it was last queried; empty if the subscription has none."""
        return self._backend.owner

    @property
    def marked(self) -> int:
        """The last position that its owner had marked as read when it was opened."""
        return self._backend.marked

    async def bind(
        self, *, take_over: bool = False, read: int = 0, run: str = "", begins: bool = False
    ) -> None:
        """Bind it to the owner it was opened for; `SubscriptionTaken` if it has another owner.

        With `take_over` it passes from any other owner. If it has none, `read` is the position up
        to which the same reader has read before there were owners. Idempotent.

        An owner that may be started twice names its `run`: the one that `begins` last reads, the
        one before it is refused.
        """
        if not 0 <= read <= U64_MAX:
            raise InvalidParameter(f"read {read}")
        await self._backend.bind(Binding(take_over, read, run, begins))

    async def mark_read(self, after: int, last: int) -> None:
        """Record that the owner has read the messages after `after` up to `last`.

        It is on disk when this returns, so that a `commit` after a crash finds it.
        """
        if not 0 <= after <= last <= U64_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        await self._backend.mark_read(after, last)

    async def reserve(self, after: int, count: int = COUNT, size_max: int = SIZE_MAX) -> int:
        """Reserve messages; returns the last position that can be read, `after` if there is none.

        Messages that were reserved before come first. Otherwise up to `count` messages of up to
        `size_max` bytes in all are reserved, and at least one if there is any. Idempotent.
        """
        if not 0 <= after <= U64_MAX or count < 1 or size_max < 1:
            raise InvalidParameter(f"after {after}, count {count}, size_max {size_max}")
        return await self._backend.reserve(after, count, size_max)

    async def size(self, after: int, last: int) -> int:
        """The bytes of the reserved messages at positions `after` + 1 to `last`."""
        if not 0 <= after <= last <= U64_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        return await self._backend.size(after, last)

    async def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """The messages at positions `after` + 1 to `last`, as many of them as fit a frame.

        At least one, unless `last` is `after`.
        """
        if not 0 <= after <= last <= U64_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        return await self._backend.read(after, last) if last > after else []

    async def read_slices(self, after: int, last: int) -> tuple[QueuedSlice, ...]:
        """Like `read`, for those who decode many at once: messages as they lie together.

        See SLICES in `docs/app-protocol.md`.
        """
        if after < 0 or last <= after:
            raise InvalidParameter(f"after {after}, last {last}")
        return await self._backend.read_slices(after, last)

    async def commit(self, position: int, move_to: str = "") -> None:
        """Commit all messages up to a position; idempotent.

        They are received then, or moved to the subqueue `move_to`; copies are deleted. If the
        subscription has an owner, only messages that it marked as read are removed.
        """
        if not 0 <= position <= U64_MAX:
            raise InvalidParameter(f"position {position}")
        await self._backend.commit(position, move_to)
