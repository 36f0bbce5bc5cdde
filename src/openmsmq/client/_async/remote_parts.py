"""What a service has open for a program."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import Call
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.members import Arguments, Members
from openmsmq.app_protocol.slices import QueuedSlice, SendRun
from openmsmq.client import payloads as remote
from openmsmq.client._async.backend import Completion
from openmsmq.client._async.channel import Channel
from openmsmq.client._async.sleep import run_once
from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.requests import ENDED, SLOW, Deliveries
from openmsmq.errors import ConnectionLost, ReceiveTimeout
from openmsmq.limits import U32_MAX, U64_MAX
from openmsmq.types.access import Mode
from openmsmq.types.ids import SentId
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.subscriptions import Binding


class RemoteBackend(Protocol):
    """What the parts need of the backend that they belong to."""

    def number_of(self, work: Work) -> int:
        """What a transaction is called on its connection."""
        ...

    async def ask_for_subscription(
        self, channel: Channel, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> Members:
        """Open a subscription on a connection."""
        ...

    async def call_subscription(
        self, subscription: RemoteSubscription, call: str, **arguments: Any
    ) -> Members:
        """Make a call about a subscription."""
        ...

    async def fetch(self, subscription: RemoteSubscription, after: int, last: int) -> Frame:
        """What a subscription was given."""
        ...


class RemoteHandle(Handle):
    """An open queue of a service, opened again on a new connection."""

    __slots__ = ("asked", "is_closed", "opened", "opened_as", "opening")

    def __init__(
        self, name: str, mode: Mode, opened_as: str, asked: Mode, opened: tuple[Channel, int]
    ) -> None:
        super().__init__(name, mode)
        self.opened_as = opened_as
        self.asked = asked
        self.opened = opened
        "The connection, and the number that the queue is open under there."
        self.opening = run_once()
        self.is_closed = False

    def is_opened_on(self, channel: Channel | None) -> bool:
        """Whether the queue can be used on a connection without being opened again there."""
        opened = self.opened[0]
        return opened is channel and opened.is_open and not self.is_closed


class RemoteCursor(CursorHandle):
    """A cursor of a service; it does not outlive its connection."""

    __slots__ = ("channel", "is_closed", "number")

    def __init__(self, channel: Channel, number: int) -> None:
        self.channel = channel
        self.number = number
        self.is_closed = False


class RemoteWork(Work):
    """A transaction of a service; unless it is prepared, it does not outlive its connection."""

    __slots__ = ("backend", "channel", "number")

    def __init__(self, backend: RemoteBackend, channel: Channel, number: int) -> None:
        self.backend = backend
        self.channel = channel
        self.number = number


class RemoteStream:
    """Messages that a service sends by itself; it does not outlive its connection."""

    def __init__(self, backend: RemoteBackend, channel: Channel, queue: int) -> None:
        """`queue` is the handle of the queue on this connection."""
        self._backend = backend
        self._channel = channel
        self._queue = queue
        self._number = 0
        self._most = 1
        "Messages to work on together, while others come."
        self._deliveries = Deliveries()

    async def begin(self, prefetch: int) -> None:
        """Let them come, this many at first."""
        payload = app.Subscribe(self._queue, min(prefetch, U32_MAX)).encode()
        self._most = prefetch // 2
        self._number, self._deliveries = await self._channel.subscribe(payload, self._queue)

    async def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        if not self._deliveries.waiting and timeout is not None:
            # What is there is sent before the answer comes: time counts from then on.
            await self._channel.request(Kind.PING)
        return await self._channel.next(self._deliveries, timeout, self._most)

    async def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages or return them; as many more may come."""
        if not self._channel.is_open:
            if remove:
                raise ConnectionLost("the messages are back in their places")
            return
        answered = self._begin(lookups, work, remove=remove)
        is_ended = True
        try:
            await answered()
        except Exception:
            is_ended = False
            raise
        finally:  # though the caller may have given up
            if is_ended:
                self._let_come(len(lookups))

    async def come_within(self, seconds: float) -> list[ReceivedMessage]:
        """Messages that come within a time; perhaps none."""
        try:
            return await self._channel.next(self._deliveries, seconds, self._most)
        except ReceiveTimeout:
            return []

    async def begin_removal(self, lookups: list[int]) -> Completion:
        """Let messages be removed; as many more may come meanwhile."""
        if not self._channel.is_open:
            raise ConnectionLost("the messages are back in their places")
        answered = self._begin(lookups, None, remove=True)
        self._let_come(len(lookups))

        async def complete() -> None:
            await answered()

        return complete

    def _begin(
        self, lookups: list[int], work: Work | None, *, remove: bool
    ) -> Callable[[], Awaitable[Frame]]:
        transaction = 0 if work is None else self._backend.number_of(work)
        kind, payload = remote.end_of(
            self._channel.welcome, self._queue, lookups, remove=remove, transaction=transaction
        )
        return self._channel.begin(kind, payload, wait=SLOW)

    def _let_come(self, count: int) -> None:
        self._channel.tell(Kind.CREDIT, app.Credit(self._number, count).encode())

    async def close(self) -> None:
        """No more are wanted; those that came and were not taken are returned."""
        with contextlib.suppress(*ENDED):
            if self._channel.is_open:
                await self._channel.unsubscribe(self._number, self._deliveries, self._queue)


class RemoteSubscription:
    """A subscription of a service, opened again on a new connection."""

    def __init__(
        self, backend: RemoteBackend, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> None:
        self._backend = backend
        self._handle = handle
        self._name = name
        self._copy = copy
        self._owner = owner
        self._opened: tuple[Channel, int] | None = None
        self.committed = 0
        "The last committed position."
        self.reserved = 0
        "The last reserved position."
        self.owner = ""
        "Who it belonged to when it was opened."
        self.marked = 0
        "The last position that was marked as read when it was opened."

    async def number(self, channel: Channel) -> int:
        """What it is called on this connection."""
        if self._opened is None or self._opened[0] is not channel:
            answer = await self._backend.ask_for_subscription(
                channel, self._handle, self._name, copy=self._copy, owner=self._owner
            )
            self._opened = channel, answer.integer("reader")
            self.committed = max(self.committed, answer.integer("committed", maximum=U64_MAX))
            self.reserved = max(self.reserved, answer.integer("reserved", maximum=U64_MAX))
            self.owner = answer.text("owner", "")
            self.marked = answer.integer("marked", 0, maximum=U64_MAX)
        return self._opened[1]

    async def bind(self, binding: Binding) -> None:
        """Let it belong to the owner that it was opened for."""
        if self._opened is None or "reader-runs" not in self._opened[0].welcome.capabilities:
            binding = replace(binding, run="", begins=False)  # an older service has no runs
        given = {name: value for name, value in asdict(binding).items() if value}
        await self._backend.call_subscription(self, "bind", **given)
        self.owner = self._owner

    async def mark_read(self, after: int, last: int) -> None:
        """Its owner has read all behind one position up to another."""
        await self._backend.call_subscription(self, "mark_read", after=after, last=last)

    async def reserve(self, after: int, count: int, size_max: int) -> int:
        """Up to which position there is something to read."""
        given = {"after": after, "count": min(count, U32_MAX), "bytes": min(size_max, U64_MAX)}
        answer = await self._backend.call_subscription(self, "reserve", **given)
        reserved = answer.integer("reserved", maximum=U64_MAX)
        self.reserved = max(self.reserved, reserved)
        return reserved

    async def size(self, after: int, last: int) -> int:
        """The bytes of reserved messages."""
        answer = await self._backend.call_subscription(
            self, "reserved_size", after=after, last=last
        )
        return answer.integer("size", maximum=U64_MAX)

    async def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """Messages that it was given behind a position; as many as fit a frame."""
        return remote.messages_in(await self._backend.fetch(self, after, last))

    async def read_slices(self, after: int, last: int) -> tuple[QueuedSlice, ...]:
        """The same as they lie together."""
        return remote.slices_in(await self._backend.fetch(self, after, last))

    async def commit(self, position: int, move_to: str) -> None:
        """Commit all messages up to a position."""
        await self._backend.call_subscription(
            self, "commit_position", position=position, move_to=move_to
        )
        self.committed = max(self.committed, position)


async def ask(channel: Channel, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
    """Make a call on a connection."""
    frame: Frame = await channel.request(
        Kind.CALL, Call(call, Arguments(arguments)).encode(), wait=wait
    )
    return Members.decode(frame.payload)


async def send_run(channel: Channel, run: SendRun) -> Sequence[SentId]:
    """Send messages that lie together."""
    frame = await channel.request(Kind.SEND_RUN, *run.parts(), wait=SLOW)
    return remote.sent(channel.welcome.manager, frame)


async def same(channel: Channel) -> Channel:
    """A connection that is ready, for what is done next."""
    return channel
