"""A connection to a service, for asyncio; `channel_sync.py` is the same for threads."""

from __future__ import annotations

import asyncio

from openmsmq.app.calls import Hello, Welcome
from openmsmq.app.frames import Frame, Kind, encode_frame
from openmsmq.app.messages import Action, Cancel, End, Messages, QueuedMessage
from openmsmq.client.address import Address
from openmsmq.client.link import Deliveries, Link
from openmsmq.errors import ConnectionLost, MQError, ReceiveTimeout, ServiceNotAvailable
from openmsmq.manager.opening import this_process
from openmsmq.net.connection import Connection, Machine


class _Machine:
    """Feeds the link with what the connection brings."""

    def __init__(self, link: Link, connection: Connection) -> None:
        self._link = link
        self._connection = connection

    @property
    def is_full(self) -> bool:
        return False

    def receive_data(self, data: bytes) -> None:
        for ping in self._link.receive_data(data):
            self._connection.write(encode_frame(Kind.PONG, ping.id, ping.payload))

    def lost(self) -> None:
        self._link.lost()


class Channel:
    """An open connection."""

    def __init__(self, connection: Connection, link: Link, patience: float) -> None:
        self._connection = connection
        self._link = link
        self._patience = patience
        "Seconds that an answer may take which waits for nothing."
        self.welcome: Welcome

    @classmethod
    async def open(cls, address: Address, patience: float) -> Channel:
        """Connect and say hello; `ServiceNotAvailable` if that does not work."""
        loop = asyncio.get_running_loop()
        link = Link()

        def make() -> Connection:
            return Connection(lambda connection: _machine(link, connection))

        try:
            async with asyncio.timeout(patience):
                if address.socket:
                    _, connection = await loop.create_unix_connection(make, address.socket)
                else:
                    host = address.host if address.tls is not None else None
                    _, connection = await loop.create_connection(
                        make, address.host, address.port, ssl=address.tls, server_hostname=host
                    )
        except TimeoutError:
            raise ServiceNotAvailable(f"{address}: no answer") from None
        except OSError as error:
            raise ServiceNotAvailable(f"{address}: {error}") from None
        channel = cls(connection, link, patience)
        try:
            hello = Hello(this_process(), token=address.token).encode()
            answer = await channel.request(Kind.HELLO, hello)
        except ConnectionLost as error:
            raise ServiceNotAvailable(f"{address}: {error.detail}") from None
        channel.welcome = Welcome.decode(answer.payload)
        return channel

    @property
    def is_open(self) -> bool:
        """It can still be used."""
        return self._link.error is None

    async def request(self, kind: Kind, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a request and wait for its answer, `wait` seconds longer than usual."""
        _, answer = self._begin(kind, parts)
        return await self._answer(answer, wait)

    async def take(self, handle: int, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a READ that takes messages; nothing stays taken if nobody waits for it any more."""
        number, answer = self._begin(Kind.READ, parts)
        try:
            return await self._answer(answer, wait)
        except asyncio.CancelledError:
            self._abandon(number, answer, handle)
            raise

    def _begin(
        self, kind: Kind, parts: tuple[bytes, ...]
    ) -> tuple[int, asyncio.Future[Frame | MQError]]:
        answer: asyncio.Future[Frame | MQError] = asyncio.get_running_loop().create_future()

        def answered(result: Frame | MQError) -> None:
            if not answer.done():
                answer.set_result(result)

        number = self._link.ask(answered)
        self._connection.write(encode_frame(kind, number, *parts))
        return number, answer

    async def _answer(self, answer: asyncio.Future[Frame | MQError], wait: float | None) -> Frame:
        limit = None if wait is None else self._patience + wait
        done, _ = await asyncio.wait((answer,), timeout=limit)
        if not done:
            self.close()
            self._link.lost(f"no answer came within {limit:.0f} seconds")
        result = await answer
        if isinstance(result, MQError):
            raise result
        return result

    def _abandon(self, number: int, answer: asyncio.Future[Frame | MQError], handle: int) -> None:
        """Let the server give up a read; messages that come all the same are returned."""
        if not self.is_open:
            return

        def came(late: asyncio.Future[Frame | MQError]) -> None:
            frame = late.result()
            if isinstance(frame, Frame) and self.is_open:
                found = Messages.decode(frame.payload).messages
                lookups = tuple(message.lookup_id for message in found)
                end = End(handle, 0, Action.RETURN, lookups).encode()
                self.tell(Kind.END, end)

        answer.add_done_callback(came)
        self.tell(Kind.CANCEL, Cancel(number).encode())

    def tell(self, kind: Kind, *parts: bytes) -> None:
        """Send something whose answer nobody waits for."""
        number = 0 if kind is Kind.CREDIT else self._link.ask(lambda _: None)
        self._connection.write(encode_frame(kind, number, *parts))

    async def subscribe(self, payload: bytes) -> tuple[int, Deliveries]:
        """Let messages come."""
        number, answer = self._begin(Kind.SUBSCRIBE, (payload,))
        deliveries = self._link.subscribe(number)
        await self._answer(answer, 0)
        return number, deliveries

    def unsubscribe(self, number: int) -> None:
        """Forget a subscription."""
        self._link.unsubscribe(number)

    async def next(
        self, deliveries: Deliveries, timeout: float | None
    ) -> tuple[QueuedMessage, ...]:
        """The next messages of a subscription; `ReceiveTimeout` if none came in time."""
        found = deliveries.take()
        if found is not None:
            return found
        changed = asyncio.Event()
        deliveries.on_change = changed.set
        try:
            async with asyncio.timeout(timeout):
                while (found := deliveries.take()) is None:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise ReceiveTimeout from None
        return found

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    async def aclose(self) -> None:
        """End the connection, and let it be over."""
        self._link.closed()
        self._connection.close()
        await asyncio.sleep(0)


def _machine(link: Link, connection: Connection) -> Machine:
    return _Machine(link, connection)
