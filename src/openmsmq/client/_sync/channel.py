"""A connection to a service, for threads: they share it and need no event loop.

Written by hand, unlike the rest of this folder: asyncio has an event loop that reads for all tasks.

Threads that wait for answers share one reader: the first that waits becomes the reader, the
others are woken when their answer came, and when the reader has its own, another one takes over.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from openmsmq.app_protocol.calls import Call, Welcome
from openmsmq.app_protocol.frames import Frame, Kind, encode_frame
from openmsmq.app_protocol.members import Arguments
from openmsmq.app_protocol.payloads import Cancel
from openmsmq.client.address import Address
from openmsmq.client.diagnosis import explain_failure, explain_silence
from openmsmq.client.payloads import end_of, messages_in
from openmsmq.client.requests import ENDED, PEER_CLOSED, SLOW, Deliveries, PendingRequests, hello
from openmsmq.client.shared_socket import SharedSocket
from openmsmq.errors import (
    Malformed,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    ServiceNotAvailable,
    TokenRefused,
)
from openmsmq.process import keep_memory
from openmsmq.types.received import ReceivedMessage

Answer = list[Frame | MQError]
"Empty until it came."
_HOUR: Final = 3600.0
"Seconds that a thread waits at a time: a system call takes no more than some days."
_MOMENT: Final = 0.1
"Seconds after which a thread that writes checks whether another one reads."


class Channel:
    """An open connection."""

    def __init__(self, wire: SharedSocket, patience: float) -> None:
        self._wire = wire
        self._link = PendingRequests()
        self._patience = patience
        "Seconds that an answer may take which waits for nothing."
        self._changed = threading.Condition(threading.Lock())
        "Guards the link; notified when something came."
        self._sending = threading.Lock()
        self._is_reading = False
        "A thread waits for the socket."
        self._pings: list[Frame] = []
        "To be answered."
        self.welcome: Welcome

    @classmethod
    def open(cls, address: Address, patience: float) -> Channel:
        """Connect and say hello; `ServiceNotAvailable` or `TokenRefused` if that does not work."""
        keep_memory()
        try:
            channel = cls(SharedSocket.connect(address, patience), patience)
        except OSError as error:
            raise ServiceNotAvailable(explain_failure(error, address)) from None
        try:
            channel._greet(address)
        except BaseException:
            channel.close()
            raise
        return channel

    def _greet(self, address: Address) -> None:
        try:
            frame = self.request(Kind.HELLO, hello(address.token))
            self.welcome = Welcome.decode(frame.payload)
        except TokenRefused as error:
            raise TokenRefused(f"{address}: {error.detail}") from None
        except MQError as error:
            reason = error.detail
            if self._link.is_silent and reason == PEER_CLOSED:
                reason = explain_silence(address)
            raise ServiceNotAvailable(f"{address}: {reason}") from None
        except Malformed as error:
            raise ServiceNotAvailable(f"{address}: {error}") from None
        self._link.allow(self.welcome)

    @property
    def is_open(self) -> bool:
        """It can still be used, as far as the other side has said until now."""
        with self._changed:
            if not (self._link.is_over or self._is_reading):
                self._read(0)
            return not self._link.is_over

    def request(self, kind: Kind, *parts: bytes, wait: float | None = 0) -> Frame:
        """Send a request and wait for its answer, `wait` seconds longer than usual."""
        _, answer = self._begin(kind, parts)
        return self._answer(answer, wait)

    def begin(self, kind: Kind, *parts: bytes, wait: float | None = 0) -> Callable[[], Frame]:
        """Send a request; what this returns waits for its answer."""
        _, answer = self._begin(kind, parts)
        return lambda: self._answer(answer, wait)

    def read(self, payload: bytes, *, wait: float | None, held: int = 0) -> Frame:
        """Send a READ. A caller that is interrupted has read nothing.

        `held` is the handle for which messages are held; 0 if a transaction or no one has them.
        """
        number, answer = self._begin(Kind.READ, (payload,), waits=wait != 0)
        try:
            return self._answer(answer, wait)
        except KeyboardInterrupt:
            self._abandon(number, answer, held)
            raise

    def remove(self, handle: int, lookups: Sequence[int]) -> None:
        """Have messages removed that are held; whatever happens now, they are the caller's."""
        kind, end = end_of(self.welcome, handle, lookups, remove=True)
        # If the answer is lost, they may or may not be removed: better twice than never.
        with contextlib.suppress(*ENDED, OperationCancelled):
            self.request(kind, end, wait=SLOW)

    def _begin(
        self, kind: Kind, parts: Sequence[bytes], *, waits: bool = False
    ) -> tuple[int, Answer]:
        answer: Answer = []
        with self._changed:
            number = self._link.ask(answer.append, waits=waits)
        self._write(encode_frame(kind, number, *parts))
        return number, answer

    def _write(self, data: bytes) -> None:
        try:
            with self._sending:
                self._send(memoryview(data))
        except OSError as error:
            self._lost(str(error))
        except BaseException:
            self._lost("interrupted while something was sent")
            raise

    def _send(self, data: memoryview) -> None:
        limit = time.monotonic() + self._patience + SLOW
        while data:
            sent = self._wire.send(data)
            data = data[sent:]
            if sent:
                limit = time.monotonic() + self._patience + SLOW
            elif time.monotonic() > limit:
                raise TimeoutError("the other side takes nothing")
            else:
                self._make_room()

    def _make_room(self) -> None:
        """Wait until more can be sent. The other side may first want its answers taken."""
        with self._changed:
            if not self._is_reading:
                self._read(self._patience, or_to_send=True)
                return
        self._wire.wait_to_send(_MOMENT)

    def _answer(self, answer: Answer, wait: float | None) -> Frame:
        limit = None if wait is None else self._patience + wait
        if not self._wait(lambda: bool(answer), limit):
            self._lost(f"no answer came within {limit:.0f} seconds")
        result = answer[0]
        if isinstance(result, MQError):
            raise result
        return result

    def _wait(self, is_there: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until something is there, reading for all meanwhile; False if it is too late."""
        limit = None if seconds is None else time.monotonic() + seconds
        while True:
            with self._changed:
                while not (is_there() or self._pings):
                    left = _HOUR if limit is None else min(limit - time.monotonic(), _HOUR)
                    if left <= 0:
                        return False
                    if self._is_reading:
                        self._changed.wait(left)
                    else:
                        self._read(left)
                pings, self._pings = self._pings, []
            for ping in pings:
                self._write(encode_frame(Kind.PONG, ping.id, ping.payload))
            if is_there():
                return True

    def _read(self, seconds: float, *, or_to_send: bool = False) -> None:
        """Read what comes, once; the lock is released meanwhile."""
        self._is_reading = True
        self._changed.release()
        has_come = False
        try:
            has_come = self._wire.wait_to_receive(seconds, or_to_send=or_to_send)
        finally:
            self._changed.acquire()
            self._is_reading = False
            self._changed.notify_all()
            try:
                if has_come and not self._link.is_over:
                    self._take()
            finally:
                if self._link.is_over:
                    self._wire.close()

    def _take(self) -> None:
        """Take what has come."""
        try:
            data = self._wire.receive()
            if data:
                self._pings += self._link.receive_data(data)
            elif data is not None:
                self._link.lost()
        except OSError as error:
            self._link.lost(str(error))
        except BaseException:
            self._link.lost("interrupted while something came")
            raise

    def _lost(self, reason: str) -> None:
        with self._changed:
            self._link.lost(reason)
            self._hang_up()

    def _hang_up(self) -> None:
        self._changed.notify_all()
        self._wire.shut_down()
        if not self._is_reading:
            self._wire.close()  # else the reader does it, who is waiting for it

    def _abandon(self, number: int, answer: Answer, held: int) -> None:
        """Let the server give up a read; messages that come all the same are returned."""
        with contextlib.suppress(MQError):
            self.request(Kind.CANCEL, Cancel(number).encode())
            if held and answer and isinstance(answer[0], Frame):
                self.give_back(held, [message.lookup_id for message in messages_in(answer[0])])

    def give_back(self, handle: int, lookups: Sequence[int]) -> None:
        """Return messages that are held to their places."""
        if lookups:
            self.request(*end_of(self.welcome, handle, lookups, remove=False), wait=SLOW)

    def tell(self, kind: Kind, payload: bytes) -> None:
        """Send something that has no answer."""
        self._write(encode_frame(kind, 0, payload))

    def subscribe(self, payload: bytes, handle: int) -> tuple[int, Deliveries]:
        """Let messages come."""
        answer: Answer = []
        with self._changed:
            number = self._link.ask(answer.append)
            deliveries = self._link.subscribe(number)
        try:
            self._write(encode_frame(Kind.SUBSCRIBE, number, payload))
            self._answer(answer, 0)
        except BaseException:
            with contextlib.suppress(MQError):
                self.unsubscribe(number, deliveries, handle)
            raise
        return number, deliveries

    def unsubscribe(self, number: int, deliveries: Deliveries, handle: int) -> None:
        """Let no more messages come; those that came and were not taken are returned."""
        call = Call("unsubscribe", Arguments({"subscription": number}))
        try:
            self.request(Kind.CALL, call.encode())
        finally:
            with self._changed:
                left = deliveries.drain()
                self._link.unsubscribe(number)
        self.give_back(handle, left)

    def next(
        self, deliveries: Deliveries, timeout: float | None, most: int = 1
    ) -> list[ReceivedMessage]:
        """The next messages of a subscription; `ReceiveTimeout` if none came in time."""
        if not self._wait(lambda: deliveries.is_ready, timeout):
            raise ReceiveTimeout
        with self._changed:
            found = deliveries.take(most)
        assert found is not None
        return found

    def close(self) -> None:
        """End the connection."""
        self._lost("it was closed here")

    def aclose(self) -> None:
        """End the connection: calls that wait fail, and say that the program closed it."""
        with self._changed:
            self._link.closed()
            self._hang_up()
