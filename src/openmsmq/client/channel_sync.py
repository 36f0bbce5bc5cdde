"""A connection to a service, for threads: they share it and need no event loop.

Whoever waits for an answer reads for all: the first thread that waits becomes the reader, the
others are told when their answer came, and when the reader has its own, another one takes over.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from openmsmq.app.calls import Hello, Welcome
from openmsmq.app.frames import Frame, Kind, encode_frame
from openmsmq.app.messages import Action, Cancel, End, Messages, QueuedMessage
from openmsmq.client.address import Address
from openmsmq.client.link import Deliveries, Link
from openmsmq.errors import ConnectionLost, MQError, ReceiveTimeout, ServiceNotAvailable
from openmsmq.manager.opening import this_process

_CHUNK: Final = 1 << 18


class Channel:
    """An open connection."""

    def __init__(self, connection: socket.socket, patience: float) -> None:
        self._socket = connection
        self._link = Link()
        self._patience = patience
        "Seconds that an answer may take which waits for nothing."
        self._changed = threading.Condition()
        "Guards the link; told when something came."
        self._sending = threading.Lock()
        self._is_reading = False
        self.welcome: Welcome

    @classmethod
    def open(cls, address: Address, patience: float) -> Channel:
        """Connect and say hello; `ServiceNotAvailable` if that does not work."""
        try:
            connection = _connect(address, patience)
        except OSError as error:
            raise ServiceNotAvailable(f"{address}: {error}") from None
        channel = cls(connection, patience)
        try:
            hello = Hello(this_process(), token=address.token).encode()
            answer = channel.request(Kind.HELLO, hello)
        except ConnectionLost as error:
            channel.aclose()
            raise ServiceNotAvailable(f"{address}: {error.detail}") from None
        channel.welcome = Welcome.decode(answer.payload)
        return channel

    @property
    def is_open(self) -> bool:
        """It can still be used."""
        return self._link.error is None

    def request(self, kind: Kind, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a request and wait for its answer, `wait` seconds longer than usual."""
        _, answer = self._begin(kind, parts)
        return self._answer(answer, wait)

    def take(self, handle: int, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a READ that takes messages; nothing stays taken if nobody waits for it any more."""
        number, answer = self._begin(Kind.READ, parts)
        try:
            return self._answer(answer, wait)
        except KeyboardInterrupt:
            self._abandon(number, answer, handle)
            raise

    def _begin(
        self, kind: Kind, parts: tuple[bytes, ...]
    ) -> tuple[int, list[Frame | MQError]]:
        answer: list[Frame | MQError] = []
        with self._changed:
            number = self._link.ask(answer.append)
        self._write(encode_frame(kind, number, *parts))
        return number, answer

    def _write(self, data: bytes) -> None:
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            self._lost(str(error))

    def _answer(self, answer: list[Frame | MQError], wait: float | None) -> Frame:
        limit = None if wait is None else time.monotonic() + self._patience + wait
        if not self._wait(lambda: bool(answer), limit):
            self.close()
            self._lost("no answer came in time")
        result = answer[0]
        if isinstance(result, MQError):
            raise result
        return result

    def _wait(self, is_there: Callable[[], bool], limit: float | None) -> bool:
        """Wait until something is there, reading for all meanwhile; False if it is too late."""
        with self._changed:
            while not is_there():
                left = None if limit is None else limit - time.monotonic()
                if left is not None and left <= 0:
                    return False
                if self._is_reading:
                    self._changed.wait(left)
                else:
                    self._read(left)
        return True

    def _read(self, left: float | None) -> None:
        """Read what comes, once; the lock is let go meanwhile."""
        self._is_reading = True
        self._changed.release()
        data, reason = b"", ""
        is_late = False
        try:
            self._socket.settimeout(left)
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            is_late = True
        except OSError as error:
            reason = str(error)
        finally:
            self._changed.acquire()
            self._is_reading = False
            self._changed.notify_all()
        if data:
            pings = self._link.receive_data(data)
            for ping in pings:
                self._write(encode_frame(Kind.PONG, ping.id, ping.payload))
        elif not is_late:
            self._link.lost(reason)

    def _lost(self, reason: str) -> None:
        with self._changed:
            self._link.lost(reason)
            self._changed.notify_all()

    def _abandon(self, number: int, answer: list[Frame | MQError], handle: int) -> None:
        """Let the server give up a read; messages that come all the same are returned."""
        with contextlib.suppress(MQError):
            self.request(Kind.CANCEL, Cancel(number).encode())
            if answer and isinstance(answer[0], Frame):
                found = Messages.decode(answer[0].payload).messages
                lookups = tuple(message.lookup_id for message in found)
                self.request(Kind.END, End(handle, 0, Action.RETURN, lookups).encode())

    def tell(self, kind: Kind, *parts: bytes) -> None:
        """Send something whose answer nobody waits for."""
        with self._changed:
            number = 0 if kind is Kind.CREDIT else self._link.ask(lambda _: None)
        self._write(encode_frame(kind, number, *parts))

    def subscribe(self, payload: bytes) -> tuple[int, Deliveries]:
        """Let messages come."""
        answer: list[Frame | MQError] = []
        with self._changed:
            number = self._link.ask(answer.append)
            deliveries = self._link.subscribe(number)
        self._write(encode_frame(Kind.SUBSCRIBE, number, payload))
        self._answer(answer, 0)
        return number, deliveries

    def unsubscribe(self, number: int) -> None:
        """Forget a subscription."""
        with self._changed:
            self._link.unsubscribe(number)

    def next(self, deliveries: Deliveries, timeout: float | None) -> tuple[QueuedMessage, ...]:
        """The next messages of a subscription; `ReceiveTimeout` if none came in time."""
        limit = None if timeout is None else time.monotonic() + timeout
        there = lambda: bool(deliveries.waiting or deliveries.error)  # noqa: E731
        if not self._wait(there, limit):
            raise ReceiveTimeout
        with self._changed:
            found = deliveries.take()
        assert found is not None
        return found

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lost("it was closed here")

    def aclose(self) -> None:
        """End the connection, and let it be over."""
        with self._changed:
            self._link.closed()
        self.close()
        self._socket.close()


def _connect(address: Address, patience: float) -> socket.socket:
    with contextlib.ExitStack() as undo:
        if address.socket:
            connection = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(patience)
            connection.connect(address.socket)
        else:
            connection = socket.create_connection((address.host, address.port), patience)
            undo.enter_context(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls is not None:
                connection = address.tls.wrap_socket(connection, server_hostname=address.host)
        undo.pop_all()
    return connection
