"""One program's connection: frames of the application protocol become calls of the manager.

`docs/app-protocol.md` is the specification. A session is a machine (`openmsmq.net.wire.Machine`):
it takes bytes and the time, writes frames to its wire, and says when it is to be called next.
Requests are begun in the order in which their frames came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final, Protocol

from openmsmq.access.tokens import Tokens
from openmsmq.app_protocol.calls import Call
from openmsmq.app_protocol.frames import (
    Frame,
    Kind,
)
from openmsmq.app_protocol.payloads import Post, Posted, PostedMessage, Send, Sent
from openmsmq.app_protocol.slices import SendRun
from openmsmq.app_server.context import Server, SessionContext
from openmsmq.app_server.handshake import Handshake
from openmsmq.app_server.reads import Reads
from openmsmq.app_server.streams import DeliveryStreams
from openmsmq.app_server.subscriptions import SubscriptionReaders
from openmsmq.app_server.units import DecidedUnits
from openmsmq.app_server.wire import ProgramWire
from openmsmq.engine.commit.future import Future
from openmsmq.errors import (
    Malformed,
    MQError,
)
from openmsmq.transports.peers.control import SessionControl
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import MessageIds, SentId
from openmsmq.types.peers import DependentInfo
from openmsmq.types.settings import ConfigurationEntry

READ_AHEAD: Final = 64 * 1024
"Bytes that are taken from a program that has used up its credit."


class DependentClients(Protocol):
    """The clients whose supporting server the manager is (`DependentRoster`)."""

    def all(self) -> list[DependentInfo]:
        """What each has open."""
        ...

    def end(self, number: int) -> bool:
        """Cut the connections of one; whether there was one."""
        ...


class SessionServer(Server, Protocol):
    """What a session needs of its server (`AppServer`)."""

    def call(self, session: AppSession, number: int, call: Call) -> None:
        """Begin a CALL."""
        ...

    def remove(self, session: AppSession) -> None:
        """A program has disconnected."""
        ...

    @property
    def sessions(self) -> list[AppSession]:
        """The sessions of all programs."""
        ...

    tokens: Tokens
    control: SessionControl | None
    dependents: DependentClients | None
    configured: Callable[[], list[ConfigurationEntry]]


class AppSession(SessionContext):
    """The machine of one connection: begins requests, and does what is due."""

    def __init__(
        self, server: SessionServer, wire: ProgramWire, now: float, *, is_trusted: bool
    ) -> None:
        """A program that is trusted needs neither token nor certificate."""
        super().__init__(server, wire, now)
        self.server: SessionServer = server
        self._handshake = Handshake(self, now, is_trusted=is_trusted)
        self.units = DecidedUnits(self)
        self._reads = Reads(self)
        self.streams = DeliveryStreams(self)
        self.readers = SubscriptionReaders(self)
        self._handlers: dict[Kind, Callable[[Frame], None]] = {
            Kind.CALL: self._call,
            Kind.SEND: self._send,
            Kind.SEND_RUN: self._send_run,
            Kind.POST: self._post,
            Kind.READ: self._reads.read,
            Kind.END: self._reads.end,
            Kind.END_RANGES: self._reads.end_ranges,
            Kind.CANCEL: self._reads.cancel,
            Kind.SUBSCRIBE: self.streams.subscribe,
            Kind.FETCH: self.readers.fetch,
        }
        self.is_full = False
        """Nothing more is read, since requests wait.

        A little more is read than is handled: a closed connection is noticed by reading only.
        """
        self._set_deadline()

    # The connection

    @property
    def awaits_hello(self) -> bool:
        """It has not said hello, and is neither refused nor over."""
        return self.grant is None and not self._is_ending

    @property
    def is_throttled(self) -> bool:
        """Its requests wait until it reads answers, or earlier requests are answered."""
        return self._must_wait and not self._is_ending

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the program sent."""
        self.now = now
        if not self._must_wait:
            self._handle_frames(data)
        elif not self._is_ending:
            self._framer.receive_data(data)
            self.is_full = self._framer.pending > READ_AHEAD

    def _handle_frames(self, data: bytes = b"") -> None:
        """Begin the requests that have come, as far as the credit goes."""
        framer = self._framer
        if data:
            framer.receive_data(data)
        self.is_full = False
        try:
            while (frame := framer.next_frame()) is not None:
                self._handle(frame)
                if not framer.has_more:
                    return
                if self._must_wait:
                    self.is_full = framer.pending > READ_AHEAD
                    return
        except Malformed as error:
            self.refuse("malformed frame", f"malformed: {error}")

    # Time

    def tick(self, now: float) -> None:
        """Do what is due: refusals, reads that time out, streams and requests that go on."""
        self.now = now
        self.next_deadline = None
        self._handshake.tick(now)
        self._reads.tick(now)
        if self._resumes:
            self._resumes = False
            self.resume(now)
        self.streams.tick()
        self._set_deadline()

    def _set_deadline(self) -> None:
        hello = self._handshake.deadline
        due = min(self._reads.next_deadline, inf if hello is None else hello)
        if due != inf:
            self.wake_at(due)

    def resume(self, now: float) -> None:
        """There is credit, or room in the write buffer again."""
        self.now = now
        if not self._must_wait:
            self._handle_frames()
        self.streams.resume()
        self.wire.update()

    # Frames

    def _handle(self, frame: Frame) -> None:
        kind, number, payload = frame
        self.server.metrics.requests[kind.name.lower()] += 1
        if self.grant is None:
            self._handshake.receive(frame)
        elif kind is Kind.PING:
            self.write(Kind.PONG, number, payload)
        elif kind is Kind.PONG:
            pass
        elif kind is Kind.CREDIT:
            self.streams.credit(frame)
        elif number == 0 or number in self._requests or kind not in self._handlers:
            raise Malformed("id", 5, f"{kind.name} with the id {number} has no place here")
        else:
            self._requests[number] = len(payload)
            self._bytes += len(payload)
            try:
                self._handlers[kind](frame)
            except Malformed:
                raise
            except MQError as error:
                self.fail(number, error)

    def lost(self) -> None:
        """The connection is closed."""
        self._end()
        self.server.remove(self)

    def _release(self) -> None:
        self._reads.cancel_all()
        self.streams.close_all()
        super()._release()
        self.units.leave()

    # What is open

    def idle_transactions(self, now: float, limit: float) -> list[int]:
        """Those that were not used for `limit` seconds; a read that waits uses its transaction."""
        waiting = self._reads.transactions
        idle = []
        for number, transaction in self.transactions.items():
            if transaction in waiting or transaction.used == inf:
                transaction.used = now
            elif transaction.is_undecided and transaction.used <= now - limit:
                idle.append(number)
        return idle

    def close_queue(self, number: int) -> None:
        """Close a queue, and all that was done through this handle."""
        opened = self.handle(number)
        del self.handles[number]
        self.streams.close_queue(opened)
        self.cursors = {at: found for at, found in self.cursors.items() if found[0] is not opened}
        opened.close()

    # Requests

    def _call(self, frame: Frame) -> None:
        self.server.call(self, frame.id, Call.decode(frame.payload))

    def _send(self, frame: Frame) -> None:
        send = Send.decode(frame.payload)
        opened = self.handle(send.handle)
        transaction = self.transaction(send.transaction)
        self._begin_send(frame.id, partial(opened.send_packets, send.packets, transaction))

    def _send_run(self, frame: Frame) -> None:
        send = SendRun.decode(frame.payload)
        opened = self.handle(send.handle)
        transaction = self.transaction(send.transaction)
        self._begin_send(frame.id, partial(opened.send_run, send.packets, send.count, transaction))

    def _begin_send(self, number: int, make: Callable[[], Future[Sequence[SentId]]]) -> None:
        def answered(sent: Future[Sequence[SentId]]) -> None:
            if sent.error is not None:
                self.fail(number, sent.error)
                return
            ids = sent.value
            assert isinstance(ids, MessageIds), "they count up"
            self.answer(number, Kind.SENT, Sent.LAYOUT.pack(ids.first, ids.size))

        self.driver.begin(make, answered)

    def _post(self, frame: Frame) -> None:
        post = Post.decode(frame.payload)
        opened = self.handle(post.handle)
        transaction = self.transaction(post.transaction)
        delivery = DeliveryOptions(post.at, post.after, post.dedup_ids)
        number = frame.id

        def posted(ids: Sequence[SentId]) -> None:
            known = [PostedMessage(int(one.rpartition("\\")[2]), one.duplicate) for one in ids]
            self.answer(number, Kind.POSTED, Posted(tuple(known)).encode())

        self.begin(
            number,
            partial(opened.send_packets, post.packets, transaction, delivery),
            posted,
        )
