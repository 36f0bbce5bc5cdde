"""An application server without an event loop: wires that keep what is written, time by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tests.unit.app_server.programs import Frame, frame
from tests.unit.engine.world import HandClock, commit_all

from openmsmq.access.tokens import Tokens
from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import Hello
from openmsmq.app_protocol.frames import FROM_SERVER, Framer, Kind
from openmsmq.app_protocol.members import Members
from openmsmq.app_server.server import AppServer
from openmsmq.app_server.session import AppSession
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.store.memory import MemoryStore

T = TypeVar("T")


class InstantDriver:
    """Commits at once (`openmsmq.app_server.context.Driver`)."""

    is_closed = False

    def __init__(self, local: QueueManager) -> None:
        self._local = local

    def call(self, make: Callable[[], T]) -> T:
        self._local.advance(self._local.clock.now(), self._local.clock.elapsed())
        result = make()
        commit_all(self._local)
        return result

    def begin(self, make: Callable[[], Future[T]], answered: Callable[[Future[T]], None]) -> None:
        self._local.advance(self._local.clock.now(), self._local.clock.elapsed())
        pending = make()
        if pending.done:
            answered(pending)
        else:
            pending.on_done = lambda: answered(pending)
        commit_all(self._local)


class PlainWire:
    """Keeps what is written (`openmsmq.app_server.wire.ProgramWire`)."""

    address = "10.0.0.9"
    peer = "a program"
    received = sent = 0

    def __init__(self) -> None:
        self.certificate: Mapping[str, Any] = {}
        self.unix: tuple[int, ...] = ()
        self.write_buffer_full = False
        self.peer_gone = False
        self.is_closed = False
        self.is_aborted = False
        self.updates = 0
        self._framer = Framer(FROM_SERVER)

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        assert not self.is_aborted
        self._framer.receive_data(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True

    def update(self) -> None:
        self.updates += 1

    def frames(self) -> list[Frame]:
        """What was written since the last call."""
        return [Frame(*found) for found in iter(self._framer.next_frame, None)]


class Client:
    """A program that is connected, as far as its session knows."""

    def __init__(self, desk: Desk, *, is_trusted: bool) -> None:
        self._desk = desk
        self.wire = PlainWire()
        self.session: AppSession = desk.server.accept(self.wire, desk.now, is_trusted=is_trusted)
        self._number = 0

    def tell(self, kind: Kind, payload: bytes = b"", number: int | None = None) -> int:
        """Send a frame; its id."""
        self._number += 1
        number = self._number if number is None else number
        self.session.receive_data(frame(kind, number, payload), self._desk.now)
        return number

    def hello(self, token: str = "") -> None:
        """Say hello."""
        self.tell(Kind.HELLO, Hello("test", token=token).encode())

    def call(self, call: str, /, **arguments: Any) -> dict[str, Any]:
        """Send a CALL; its answer, which must come at once."""
        self.tell(Kind.CALL, Members({"call": call, **arguments}).encode())
        [found] = self.wire.frames()
        assert found.kind is Kind.ANSWER, found
        return found.members

    def create(self) -> int:
        """A new queue, opened."""
        self.call("create_queue", name="orders")
        return int(self.call("open_queue", name="orders")["handle"])

    def read(self, handle: int, timeout_ms: int) -> int:
        """Send a READ."""
        return self.tell(Kind.READ, app.ReadRequest(handle, timeout=timeout_ms).encode())

    def closing(self) -> dict[str, Any]:
        """Why the connection was closed."""
        [found] = self.wire.frames()
        assert found.kind is Kind.CLOSING, found
        assert self.wire.is_closed
        return found.members


class Desk:
    """A server, and the time as its sessions are given it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.now = 1000.0
        self.local = QueueManager(MemoryStore(), HandClock(), name="HOST")
        self.metrics = ServiceMetrics()
        self.tokens = Tokens(folder)
        self.server = AppServer(
            self.local,
            InstantDriver(self.local),
            Config(data=folder, app_port=None, **options),
            self.tokens,
            metrics=self.metrics,
        )

    def connect(self, *, is_trusted: bool = True) -> Client:
        """A program connects."""
        return Client(self, is_trusted=is_trusted)

    def welcome(self) -> Client:
        """A program has connected and said hello."""
        client = self.connect()
        client.hello()
        assert [found.kind for found in client.wire.frames()] == [Kind.WELCOME]
        return client

    def wait(self, seconds: float) -> None:
        """Let time pass: sessions are called at their deadlines, and not otherwise."""
        end = self.now + seconds
        while True:
            due = [(s.next_deadline, s) for s in self.server.sessions if s.next_deadline]
            if not due or min(at for at, _ in due) > end:
                break
            at, session = min(due, key=lambda item: item[0])
            self.now = max(self.now, at)
            session.tick(self.now)
        self.now = end
