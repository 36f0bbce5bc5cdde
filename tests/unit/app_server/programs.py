"""An application server with a store in memory, and programs that speak in plain frames."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import ssl
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple, Self
from unittest.mock import patch

import pytest
from tests.unit.engine.world import HandClock
from tests.unit.service.stores import SlowStore

from openmsmq.access.tokens import Tokens
from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import decode_error
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import EndRanges
from openmsmq.app_server.listener import AppListener
from openmsmq.app_server.server import AppServer
from openmsmq.app_server.session import AppSession
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import MQError
from openmsmq.names.direct import DirectName
from openmsmq.net.connection import Connection
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.types.caller import Role
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

PATIENCE: Final = 20.0
"Seconds after which a test has failed."
FOREVER: Final = 0xFFFFFFFF
_HEADER: Final = Struct("<IBI")
_ANYWHERE: Final = DirectName.from_wire("OS:.\\private$\\x")
_PACKER: Final = Packer(HandClock().new_guid())


class Frame(NamedTuple):
    """What the service sent."""

    kind: Kind
    id: int
    payload: bytes

    @property
    def members(self) -> dict[str, Any]:
        """The payload, if it is JSON."""
        return dict(Members.decode(self.payload).values)

    @property
    def messages(self) -> list[app.QueuedMessage]:
        """The messages of MESSAGES or DELIVERY."""
        assert self.kind in (Kind.MESSAGES, Kind.DELIVERY), self
        return list(app.Messages.decode(self.payload).messages)


def frame(kind: int, number: int, payload: bytes = b"") -> bytes:
    """The bytes of a frame."""
    return _HEADER.pack(5 + len(payload), kind, number) + payload


def packet(body: bytes | str = b"", **given: Any) -> bytes:
    """A message as programs write it."""
    body = body.encode() if isinstance(body, str) else body
    return _PACKER.pack_many([Message(body, **given)], _ANYWHERE, first_id=0, sent_time=0)[0]


def bodies(messages: list[app.QueuedMessage]) -> list[str]:
    """What is in messages that came."""
    return [_body(found.packet) for found in messages]


def _body(packet: bytes) -> str:
    return ReceivedMessage(packet, lookup_id=1).body.decode(errors="replace")


def lookups(messages: list[app.QueuedMessage]) -> tuple[int, ...]:
    """Where messages that came are in their queue."""
    return tuple(found.lookup_id for found in messages)


async def until(condition: Callable[[], object]) -> None:
    """Wait until something has happened in the service that it tells unanswered."""
    while not condition():  # noqa: ASYNC110  # no one is notified
        await asyncio.sleep(0.001)


class Program:
    """A connection to the service, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._number = 0
        self._aside: deque[Frame] = deque()
        "Frames that came before the one that was waited for."

    # Frames

    def tell(self, kind: int, payload: bytes = b"", *, number: int | None = None) -> int:
        """Send a frame; the id it has."""
        if number is None:
            self._number += 1
            number = self._number
        self.writer.write(frame(kind, number, payload))
        return number

    async def next(self) -> Frame:
        """The next frame that comes."""
        if self._aside:
            return self._aside.popleft()
        return await self._read()

    async def _read(self) -> Frame:
        async with asyncio.timeout(PATIENCE):
            size, kind, number = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
            return Frame(Kind(kind), number, await self._reader.readexactly(size - 5))

    async def answer(self, number: int) -> Frame:
        """The answer to a request; an ERROR is raised."""
        for found in self._aside:
            if found.id == number:
                self._aside.remove(found)
                break
        else:
            while (found := await self._read()).id != number:
                self._aside.append(found)
        if found.kind is Kind.ERROR:
            raise decode_error(found.payload)
        return found

    async def ask(self, kind: int, payload: bytes = b"") -> Frame:
        """Send a request and wait for its answer."""
        return await self.answer(self.tell(kind, payload))

    async def ping(self) -> None:
        """Wait until all is handled that was sent so far."""
        assert (await self.ask(Kind.PING, b"there?")).payload == b"there?"

    async def closing(self) -> str:
        """Wait for the end of the connection; the reason the service gives."""
        reason = ""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                found = await self.next()
                if found.kind is Kind.CLOSING:
                    assert found.id == 0
                    reason = found.members["reason"]
        return reason

    @property
    def is_silent(self) -> bool:
        """Nothing came that was not waited for."""
        return not self._aside

    def cut(self) -> None:
        """End the connection without a word."""
        self.writer.transport.abort()

    # Requests

    async def hello(
        self, token: str = "", client: str = "test", capabilities: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Say hello."""
        more: dict[str, Any] = {"token": token} if token else {}
        if capabilities:
            more["capabilities"] = capabilities
        asked = Members({"protocol": 1, "client": client, **more})
        found = await self.ask(Kind.HELLO, asked.encode())
        assert found.kind is Kind.WELCOME, found
        return found.members

    def begin(self, call: str, /, **arguments: Any) -> int:
        """Send a CALL."""
        return self.tell(Kind.CALL, Members({"call": call, **arguments}).encode())

    async def call(self, call: str, /, **arguments: Any) -> dict[str, Any]:
        """Send a CALL and wait for its answer."""
        found = await self.answer(self.begin(call, **arguments))
        assert found.kind is Kind.ANSWER
        return found.members

    async def open(self, name: str, *access: str) -> int:
        """Open a queue."""
        asked = {"access": access} if access else {}
        return int((await self.call("open_queue", name=name, **asked))["handle"])

    async def create(self, name: str = "orders", **properties: Any) -> int:
        """A new queue, opened."""
        await self.call("create_queue", name=name, **properties)
        return await self.open(name)

    async def transaction(self, xid: str = "") -> int:
        """Begin a transaction."""
        return int((await self.call("begin", xid=xid))["transaction"])

    def begin_send(self, handle: int, *packets: bytes, transaction: int = 0) -> int:
        """Send a SEND."""
        return self.tell(Kind.SEND, app.Send(handle, transaction, packets).encode())

    async def send(
        self, handle: int, *texts: bytes | str, transaction: int = 0, **given: Any
    ) -> app.Sent:
        """Send messages."""
        packets = [packet(text, **given) for text in texts]
        number = self.begin_send(handle, *packets, transaction=transaction)
        found = await self.answer(number)
        assert found.kind is Kind.SENT
        return app.Sent.decode(found.payload)

    def begin_read(self, handle: int, **given: Any) -> int:
        """Send a READ, which waits for ever by default."""
        return self.tell(Kind.READ, app.ReadRequest(handle, **given).encode())

    async def read(self, handle: int, **given: Any) -> list[app.QueuedMessage]:
        """Take messages, or peek at them, without waiting by default."""
        number = self.begin_read(handle, **{"timeout": 0, **given})
        return (await self.answer(number)).messages

    async def peek(self, handle: int, count: int = 100, **given: Any) -> list[str]:
        """What can be read in a queue; the bodies."""
        return bodies(await self.read(handle, count=count, mode=app.PEEK, **given))

    async def end(
        self,
        handle: int,
        *places: int,
        action: app.Action = app.Action.REMOVE,
        transaction: int = 0,
    ) -> None:
        """Say what becomes of messages."""
        found = await self.ask(Kind.END, app.End(handle, transaction, action, places).encode())
        assert found == (Kind.DONE, found.id, b"")

    async def end_ranges(
        self, handle: int, *ranges: tuple[int, int], action: app.Action = app.Action.REMOVE
    ) -> None:
        """Say what becomes of consecutive messages."""
        found = await self.ask(
            Kind.END_RANGES, EndRanges(handle, 0, action, tuple(ranges)).encode()
        )
        assert found == (Kind.DONE, found.id, b"")

    async def subscribe(self, handle: int, credit: int) -> int:
        """Let messages come."""
        found = await self.ask(Kind.SUBSCRIBE, app.Subscribe(handle, credit).encode())
        assert found == (Kind.DONE, found.id, b"")
        return found.id

    def credit(self, subscription: int, more: int) -> None:
        """Let more messages come."""
        self.tell(Kind.CREDIT, app.Credit(subscription, more).encode(), number=0)

    async def delivery(self, subscription: int) -> list[app.QueuedMessage]:
        """The next messages that come by themselves."""
        return (await self.answer(subscription)).messages


class House:
    """A service: a listener, the application server, a manager and its store."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.store = SlowStore()
        self.clock = HandClock()
        self.local = QueueManager(self.store, self.clock, name="HOST")
        self.driver = LoopDriver(self.local, self.local.clock)
        self.metrics = ServiceMetrics()
        self.tokens = Tokens(folder)
        config = Config(data=folder, app_port=None, app_socket=folder / "app")
        self.config = replace(config, **options)
        self.programs: list[Program] = []
        self.errors: list[object] = []
        "What no one caught."
        self.listener = self.new_listener()
        self.server = self.listener.server

    def new_listener(self, tls: ssl.SSLContext | None = None, **given: Any) -> AppListener:
        """Another listener of the same service, with a server of its own."""
        server = AppServer(
            self.local,
            self.driver,
            self.config,
            self.tokens,
            metrics=self.metrics,
            **{"refusal_delay_s": 0, **given},
        )
        return AppListener(server, tls)

    def look(self, later_s: float = 0.0) -> None:
        """Let the sweeper check all sessions, as if so much time had passed."""
        self.listener.sweeper.tick(asyncio.get_running_loop().time() + later_s)

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().set_exception_handler(self._caught)
        await self.listener.start()
        return self

    def _caught(self, _: object, context: dict[str, Any]) -> None:
        self.errors.append(context.get("exception") or context["message"])

    async def __aexit__(self, *details: object) -> None:
        self.store.gate.set()
        for program in self.programs:
            program.cut()
        await until(lambda: not self.server.clients)
        try:
            if details == (None, None, None):
                self._check_nothing_is_left()
        finally:
            await self.listener.stop("the test is over")
            await self.driver.close()
        assert not self.errors, self.errors

    def _check_nothing_is_left(self) -> None:
        """Of connections that are over."""
        prepared = set(map(id, self.local.prepared.values()))
        for queue in self.local.queues.everything:
            assert not queue.waiters, queue.name
            assert not queue.modes, queue.name
            for lookup in queue.holds:
                holder = queue.holds.holder_of(lookup)
                assert id(holder) in prepared or _ends(holder), queue.name
        assert self.metrics.clients == 0
        assert self.metrics.transactions == 0

    async def connect(self) -> Program:
        """A connection on which nothing was said yet."""
        reader, writer = await asyncio.open_unix_connection(self.config.app_socket)
        program = Program(reader, writer)
        self.programs.append(program)
        return program

    async def program(
        self, token: str = "", client: str = "test", capabilities: tuple[str, ...] = ()
    ) -> Program:
        """One that has said hello."""
        program = await self.connect()
        await program.hello(token, client, capabilities)
        return program

    def token(self, role: Role, *queues: str) -> str:
        """A new token, as its holder shows it."""
        return self.tokens.create(role, queues)[1]

    def queue(self, name: str = "orders") -> ManagedQueue:
        """A private queue as the rules know it."""
        return self.local.queues.find(f"private$\\{name}")

    async def open_tcp(self, *, is_local: bool = True, **given: Any) -> tuple[AppListener, int]:
        """A listener on a port, as if others could reach it if it is not local; the port."""
        listener = self.new_listener(**given)
        listener.server.config = replace(self.config, app_port=0, app_socket=None)
        with patch.object(Config, "is_local", is_local):
            address = await listener.start()
        assert isinstance(address, tuple)
        assert address[0] == "127.0.0.1"
        return listener, address[1]

    async def connect_tcp(self, port: int, **given: Any) -> Program:
        """A connection to such a listener."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, **given)
        program = Program(reader, writer)
        self.programs.append(program)
        return program


def connection_of(session: AppSession) -> Connection:
    """The connection of a session."""
    assert isinstance(session.wire, Connection)
    return session.wire


def _ends(holder: object) -> bool:
    """A transaction that is just being aborted."""
    return isinstance(holder, ManagedTransaction) and not holder.is_undecided


def served(**options: Any) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Any]:
    """A test that gets a `house` and runs in its event loop; options are those of `Config`."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Any:
        async def live(folder: Path, given: dict[str, Any]) -> None:
            async with asyncio.timeout(2 * PATIENCE), House(folder, **options) as house:
                await test(house, **given)

        def run(tmp_path: Path, **given: Any) -> None:
            asyncio.run(live(tmp_path, given))

        _, *others = inspect.signature(test).parameters.values()
        folder = inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([folder, *others])  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate


async def refused(awaited: Coroutine[Any, Any, object], error: type[MQError]) -> str:
    """Wait for an error of exactly this class; what it says."""
    with pytest.raises(error) as found:
        await awaited
    assert type(found.value) is error
    return found.value.detail
