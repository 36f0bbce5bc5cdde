"""A connection to a service, for asyncio.

`_sync/channel.py` is written by hand: there the threads that wait read the socket themselves, here
the event loop does it for all tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any
from weakref import WeakSet

from openmsmq.app_protocol.calls import Call, Welcome
from openmsmq.app_protocol.frames import Frame, Kind, encode_frame
from openmsmq.app_protocol.members import Arguments
from openmsmq.app_protocol.payloads import Cancel
from openmsmq.client.address import Address
from openmsmq.client.diagnosis import explain_failure, explain_silence
from openmsmq.client.payloads import end_of, messages_in
from openmsmq.client.requests import (
    ENDED,
    PEER_CLOSED,
    SLOW,
    Answered,
    Deliveries,
    PendingRequests,
    hello,
)
from openmsmq.errors import (
    Malformed,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    ServiceNotAvailable,
    TokenRefused,
)
from openmsmq.net.connection import Connection
from openmsmq.net.wire import Machine
from openmsmq.process import keep_memory
from openmsmq.types.received import ReceivedMessage

Answer = asyncio.Future[Frame | MQError]


class _Machine:
    """Feeds the link with what the connection brings."""

    is_full = False
    next_deadline = None

    def __init__(
        self,
        link: PendingRequests,
        connection: Connection,
        room: Callable[[], None],
        over: Callable[[], None],
    ) -> None:
        self._link = link
        self._connection = connection
        self._room = room
        self._over = over

    def receive_data(self, data: bytes, now: float) -> None:
        for ping in self._link.receive_data(data):
            self._connection.write(encode_frame(Kind.PONG, ping.id, ping.payload))
        if self._link.is_over:
            self._connection.close()

    def resume(self, now: float) -> None:
        self._room()

    def tick(self, now: float) -> None:
        pass  # it has no deadlines

    def lost(self) -> None:
        self._link.lost()
        self._over()


class Channel:
    """An open connection."""

    def __init__(self, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._link = PendingRequests()
        self._over: asyncio.Future[None] = self._loop.create_future()
        "Done when the socket is closed."
        self._connection = Connection(self._machine, reads_always=True)
        self._room = asyncio.Event()
        "Notified when there may be room again for more to be sent."
        self._queueing = asyncio.Lock()
        "Held by the task that is the next to send, when there is room for it."
        self._patience = patience
        "Seconds that an answer may take which waits for nothing."
        self._awaited: dict[Answer, tuple[float, float]] = {}
        "Until when answers have to come, and how many seconds that was from their requests."
        self._timer: asyncio.TimerHandle | None = None
        "Looks for answers that are late: one for all, since each takes a good part of a request."
        self._looks_at = inf
        self._cancelled: WeakSet[asyncio.Task[Any]] = WeakSet()
        "Tasks that were cancelled too late, and have not heard of it yet."
        self.welcome: Welcome

    def _machine(self, connection: Connection) -> Machine:
        return _Machine(self._link, connection, self._room.set, self._ended)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._room.set()
        self._over.set_result(None)

    @classmethod
    async def open(cls, address: Address, patience: float) -> Channel:
        """Connect and say hello; `ServiceNotAvailable` or `TokenRefused` if that does not work."""
        keep_memory()
        channel = cls(patience)
        try:
            async with asyncio.timeout(patience):
                await channel._connect(address)
        except OSError as error:
            raise ServiceNotAvailable(explain_failure(error, address)) from None
        try:
            await channel._greet(address)
        except BaseException:
            channel.close()
            raise
        return channel

    async def _connect(self, address: Address) -> None:
        if address.socket:
            await self._loop.create_unix_connection(lambda: self._connection, address.socket)
            return
        host = address.host if address.tls is not None else None
        await self._loop.create_connection(
            lambda: self._connection,
            address.host,
            address.port,
            ssl=address.tls,
            server_hostname=host,
        )

    async def _greet(self, address: Address) -> None:
        try:
            frame = await self.request(Kind.HELLO, hello(address.token))
            self.welcome = Welcome.decode(frame.payload)
        except TokenRefused as error:
            raise TokenRefused(f"{address}: {error.detail}") from None
        except MQError as error:
            reason = error.detail
            if self._link.is_silent and reason == PEER_CLOSED:
                reason = await asyncio.to_thread(explain_silence, address)
            raise ServiceNotAvailable(f"{address}: {reason}") from None
        except Malformed as error:
            raise ServiceNotAvailable(f"{address}: {error}") from None
        self._link.allow(self.welcome)

    @property
    def is_open(self) -> bool:
        """It can still be used, as far as the other side has said until now."""
        return not self._link.is_over

    async def request(self, kind: Kind, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a request and wait for its answer, `wait` seconds longer than usual."""
        if self._must_queue:
            await self._make_room()
        _, answer = self._begin(kind, parts)
        return await self._answer(answer, wait)

    def begin(
        self, kind: Kind, *parts: bytes, wait: float | None = 0
    ) -> Callable[[], Awaitable[Frame]]:
        """Send a request, even if the caller gives up; what this returns waits for its answer."""
        _, answer = self._begin(kind, parts)
        return lambda: self._answer(answer, wait)

    async def read(self, payload: bytes, *, wait: float | None, held: int = 0) -> Frame:
        """Send a READ. A caller that is cancelled has read nothing.

        `held` is the handle for which messages are held; 0 if a transaction or no one has them.
        """

        def came_late(result: Frame | MQError) -> None:
            if held and isinstance(result, Frame):
                self._give_back(held, [message.lookup_id for message in messages_in(result)])

        if self._must_queue:
            await self._make_room()
        number, answer = self._begin(Kind.READ, (payload,), waits=wait != 0, late=came_late)
        try:
            return await self._answer(answer, wait)
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled():
                came_late(answer.result())
            elif self.is_open:
                self._tell(Kind.CANCEL, Cancel(number).encode())
            raise

    async def remove(self, handle: int, lookups: Sequence[int]) -> None:
        """Have messages removed that are held; whatever happens now, they are the caller's."""
        kind, end = end_of(self.welcome, handle, lookups, remove=True)
        _, answer = self._begin(kind, (end,))
        # If the answer is lost, they may or may not be removed: better twice than never.
        with contextlib.suppress(*ENDED, OperationCancelled):
            try:
                await self._answer(asyncio.shield(answer), SLOW)
            except asyncio.CancelledError:
                await self._insist(answer)

    async def _insist(self, answer: Answer) -> None:
        """Wait for an answer although the task is cancelled, which hears of it later.

        Messages that are about to be removed would be lost with it. By its next request the task
        has got them; unless it was only a time limit, which is over then, that one is cancelled.
        """
        task = asyncio.current_task()
        assert task is not None
        self._cancelled.add(task)
        while not answer.done():
            with contextlib.suppress(asyncio.CancelledError):
                await self._answer(asyncio.shield(answer), SLOW)

    @property
    def _must_queue(self) -> bool:
        """Too much waits to be sent already, or other tasks wait for that."""
        return self._connection.write_buffer_full or self._queueing.locked()

    async def _make_room(self) -> None:
        """Wait while too much waits to be sent already, one task behind the other."""
        async with self._queueing:
            limit = self._patience + SLOW
            try:
                async with asyncio.timeout(limit):
                    while self._connection.write_buffer_full and not self._link.is_over:
                        self._room.clear()
                        await self._room.wait()
            except TimeoutError:
                self._lost(f"nothing could be sent for {limit:.0f} seconds")

    def _begin(
        self,
        kind: Kind,
        parts: Sequence[bytes],
        *,
        waits: bool = False,
        late: Answered | None = None,
    ) -> tuple[int, Answer]:
        """Send a request; `late` gets an answer that came after the caller gave up."""
        if self._cancelled:
            self._hear_of_it()
        answer: Answer = self._loop.create_future()
        number = self._link.ask(_setter(answer, late), waits=waits)
        self._connection.write(encode_frame(kind, number, *parts))
        return number, answer

    def _hear_of_it(self) -> None:
        task = asyncio.current_task()
        if task is not None and task in self._cancelled:
            self._cancelled.discard(task)
            if task.cancelling():
                raise asyncio.CancelledError

    async def _answer(self, answer: Answer, wait: float | None) -> Frame:
        if wait is not None:
            self._expect(answer, self._patience + wait)
        try:
            result = await answer
        finally:
            self._awaited.pop(answer, None)
        if isinstance(result, MQError):
            raise result
        return result

    def _expect(self, answer: Answer, limit: float) -> None:
        """An answer has to come within so many seconds."""
        at = self._loop.time() + limit
        self._awaited[answer] = at, limit
        if at < self._looks_at:
            self._look_at(at)

    def _look_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._looks_at = self._loop.call_at(at, self._look), at

    def _look(self) -> None:
        """Give up if an answer is late, and look again when the next one will be."""
        self._timer, self._looks_at = None, inf
        if self._awaited:
            at, limit = min(self._awaited.values())
            if at > self._loop.time():
                self._look_at(at)
            else:
                self._lost(f"no answer came within {limit:.0f} seconds")

    def _lost(self, reason: str) -> None:
        self._link.lost(reason)
        self._connection.abort()

    def _give_back(self, handle: int, lookups: Sequence[int]) -> None:
        """Return messages that are held to their places, some time soon."""
        if lookups and not self._link.is_over:
            self._tell(*end_of(self.welcome, handle, lookups, remove=False))

    def _tell(self, kind: Kind, payload: bytes) -> None:
        """Send a request without waiting for its answer."""
        self._connection.write(encode_frame(kind, self._link.ask(_ignore), payload))

    def tell(self, kind: Kind, payload: bytes) -> None:
        """Send something that has no answer."""
        self._connection.write(encode_frame(kind, 0, payload))

    async def subscribe(self, payload: bytes, handle: int) -> tuple[int, Deliveries]:
        """Let messages come."""
        number, answer = self._begin(Kind.SUBSCRIBE, (payload,))
        deliveries = self._link.subscribe(number)
        try:
            await self._answer(answer, 0)
        except BaseException:
            self._drop(number, deliveries, handle)
            raise
        return number, deliveries

    async def unsubscribe(self, number: int, deliveries: Deliveries, handle: int) -> None:
        """Let no more messages come; those that came and were not taken are returned."""
        await self._answer(self._drop(number, deliveries, handle), 0)

    def _drop(self, number: int, deliveries: Deliveries, handle: int) -> Answer:
        """Begin to unsubscribe, which goes on even if the caller does not wait."""
        answer: Answer = self._loop.create_future()
        answered = _setter(answer)

        def stopped(result: Frame | MQError) -> None:
            self._link.unsubscribe(number)
            self._give_back(handle, deliveries.drain())
            answered(result)

        error = self._link.error
        if error is not None:
            answered(error)
            return answer
        call = Call("unsubscribe", Arguments({"subscription": number}))
        self._connection.write(encode_frame(Kind.CALL, self._link.ask(stopped), call.encode()))
        return answer

    async def next(
        self, deliveries: Deliveries, timeout: float | None, most: int = 1
    ) -> list[ReceivedMessage]:
        """The next messages of a subscription; `ReceiveTimeout` if none came in time."""
        found = deliveries.take(most)
        if found is not None:
            return found
        changed = asyncio.Event()
        deliveries.on_change = changed.set
        try:
            async with asyncio.timeout(timeout):
                while (found := deliveries.take(most)) is None:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise ReceiveTimeout from None
        return found

    def close(self) -> None:
        """End the connection."""
        self._lost("it was closed here")

    async def aclose(self) -> None:
        """End the connection: calls that wait fail, and say that the program closed it."""
        self._link.closed()
        self._room.set()
        self._connection.close()
        await asyncio.wait((self._over,))


def _setter(answer: Answer, late: Answered | None = None) -> Answered:
    def answered(result: Frame | MQError) -> None:
        if not answer.done():
            answer.set_result(result)
        elif late is not None:
            late(result)

    return answered


def _ignore(_: Frame | MQError) -> None:
    """The caller no longer waits for it."""
