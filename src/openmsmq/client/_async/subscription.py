"""Durable subscriptions."""

from __future__ import annotations

from openmsmq.client._async.backend import SubscriptionBackend
from openmsmq.errors import InvalidParameter
from openmsmq.limits import U64_MAX
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.subscriptions import Binding

COUNT = 10_000
"Messages that are reserved, unless said otherwise."
SIZE_MAX = 256 * 1024 * 1024
"Their bytes."


class Subscription:
    """Reads a queue in steps that can be repeated, whatever happens to this process.

    Positions count the messages that the subscription was given, from 1. It is given the same
    messages at the same positions until it says that it is done with them.

    With an owner, no other reads through it or is done with anything. The owner binds it, marks
    what it has read, and what it has not read stays when it is done with it.
    """

    def __init__(self, backend: SubscriptionBackend, name: str) -> None:
        self._backend = backend
        self.name = name

    @property
    def done(self) -> int:
        """It is done with all messages up to this position."""
        return self._backend.done

    @property
    def end(self) -> int:
        """It was given all messages up to this position."""
        return self._backend.end

    @property
    def owner(self) -> str:
        """Who it belonged to when that was last asked for; empty if it is anybody's."""
        return self._backend.owner

    async def bind(self, *, take_over: bool = False, read: int = 0) -> None:
        """Let it belong to the owner it was opened for; `SubscriptionTaken` if it is another's.

        With `take_over` it passes from any other. If it has none, `read` says up to which position
        the same reader has read before it had an owner. To say it again does nothing.
        """
        if not 0 <= read <= U64_MAX:
            raise InvalidParameter(f"read {read}")
        await self._backend.bind(Binding(take_over, read))

    async def mark_read(self, after: int, last: int) -> None:
        """Remember that its owner has read the messages behind `after` up to `last`.

        On disk when this returns, so that `finish` finds it whatever happens to this process.
        """
        if not 0 <= after <= last <= U64_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        await self._backend.mark_read(after, last)

    async def reserve(self, after: int, count: int = COUNT, size_max: int = SIZE_MAX) -> int:
        """Up to which position, `after` or more, there is something to read.

        What was given before comes first; else up to `count` messages are given that have
        `size_max` bytes together, or at least one if there is any. To ask again does no harm.
        """
        if not 0 <= after <= U64_MAX or count < 1 or size_max < 1:
            raise InvalidParameter(f"after {after}, count {count}, size_max {size_max}")
        return await self._backend.reserve(after, count, size_max)

    async def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """The messages at the positions `after` + 1 and on, as many of those up to `last` as fit.

        At least one, unless `last` is `after`.
        """
        if not 0 <= after <= last <= U64_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        return await self._backend.read(after, last) if last > after else []

    async def read_packed(self, after: int, last: int) -> bytes:
        """The same for those who decode many at once: the payload of MESSAGES."""
        if after < 0 or last <= after:
            raise InvalidParameter(f"after {after}, last {last}")
        return await self._backend.read_packed(after, last)

    async def finish(self, position: int, move_to: str = "") -> None:
        """Be done with all messages up to a position; to say it again does nothing.

        They are received then, or moved to the subqueue `move_to`. Of copies there is only an end.
        Of a subscription with an owner only those leave that it has marked as read.
        """
        if not 0 <= position <= U64_MAX:
            raise InvalidParameter(f"position {position}")
        await self._backend.finish(position, move_to)
