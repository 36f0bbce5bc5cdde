"""Written from `remote_aio.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from openmsmq.app import messages as app
from openmsmq.app.calls import Call
from openmsmq.app.frames import Frame, Kind
from openmsmq.app.members import Arguments, Members
from openmsmq.client.address import Address
from openmsmq.client.backend import CursorHandle, Handle, Read, Work
from openmsmq.client.channel_sync import Channel
from openmsmq.client.link import Deliveries
from openmsmq.client.waiting_sync import pause, run_once
from openmsmq.errors import (
    ConnectionLost,
    InvalidHandle,
    ServiceNotAvailable,
    TransactionSequence,
)
from openmsmq.manager.explaining import HistoryEvent
from openmsmq.manager.info import QueueInfo
from openmsmq.messages.ids import MessageIds
from openmsmq.messages.message import Message
from openmsmq.messages.pack import Packer
from openmsmq.messages.received import ReceivedMessage
from openmsmq.model.layout import ARRIVAL_MASK
from openmsmq.model.opening import Access, Mode, Share
from openmsmq.model.receiving import Seek
from openmsmq.model.settings import Settings
from openmsmq.names.direct import DirectName
from openmsmq.properties.message import INFINITE

T = TypeVar("T")
BACK_OFF = (0.05, 2.0)
"Seconds until a connection is tried again, at first and at most."
_SEEKS = {
    Seek.CURRENT: app.Seek.LOOKUP,
    Seek.NEXT: app.Seek.AFTER_LOOKUP,
    Seek.PREVIOUS: app.Seek.BEFORE_LOOKUP,
    Seek.FIRST: app.Seek.FIRST,
    Seek.LAST: app.Seek.LAST,
}
_ACCESS = {Access.RECEIVE: "receive", Access.SEND: "send", Access.PEEK: "peek"}
_ANYWHERE = DirectName.from_wire("OS:.\\private$\\x")
"The manager writes the destination, whatever it was."
WAIT_MAX = 4_000_000.0
"Seconds beyond which to wait is to wait for ever."
LOST = "the connection was lost, and with it the transaction, which is aborted"


class RemoteHandle(Handle):
    """An open queue of a service, opened again on a new connection."""

    __slots__ = ("asked", "channel", "is_closed", "number", "opened_as", "subscription")

    def __init__(self, name: str, mode: Mode, opened_as: str, asked: Mode) -> None:
        super().__init__(name, mode)
        self.opened_as = opened_as
        self.asked = asked
        self.channel: Channel | None = None
        self.number = 0
        self.is_closed = False
        self.subscription: RemoteSubscription | None = None


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

    def __init__(self, backend: Remote, channel: Channel, number: int) -> None:
        self.backend = backend
        self.channel = channel
        self.number = number


class RemoteSubscription:
    """Messages that a service sends by itself."""

    def __init__(
        self, backend: Remote, handle: RemoteHandle, number: int, deliveries: Deliveries
    ) -> None:
        assert handle.channel is not None
        self._backend = backend
        self._handle = handle
        self._channel = handle.channel
        self._number = number
        self._deliveries = deliveries

    def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        if not self._deliveries.waiting and timeout is not None:
            # What is there is sent before the answer comes: time counts from then on.
            self._channel.request(Kind.PING)
        return _received(self._channel.next(self._deliveries, timeout))

    def ended(self, count: int) -> None:
        """Messages were acknowledged or returned: as many more may come."""
        if self._channel.is_open:
            self._channel.tell(Kind.CREDIT, app.Credit(self._number, count).encode())

    def close(self) -> None:
        """No more are wanted; those that came and were not taken are returned."""
        self._handle.subscription = None
        if not self._channel.is_open:
            return
        arguments = Arguments({"subscription": self._number})
        self._channel.request(Kind.CALL, Call("unsubscribe", arguments).encode())
        left = [m.lookup_id for batch in self._deliveries.waiting for m in batch]
        self._deliveries.waiting.clear()
        self._channel.unsubscribe(self._number)
        if left:
            self._backend.end(self._handle, left, None, remove=False)


class Remote:
    """The queues of a service."""

    def __init__(self, address: Address, *, patience: float, reconnect: float) -> None:
        """`patience`: seconds for an answer; `reconnect`: seconds to try for a lost connection."""
        self._address = address
        self._patience = patience
        self._reconnect = reconnect
        self._channel: Channel | None = None
        self._connecting = run_once()
        self._packer: Packer | None = None
        self._is_closed = False

    # The connection

    def connect(self) -> Channel:
        """The connection, made if there is none."""
        if self._is_closed:
            raise InvalidHandle("the queue manager is closed")
        channel = self._channel
        if channel is not None and channel.is_open:
            return channel
        with self._connecting:
            if self._channel is None or not self._channel.is_open:
                if self._channel is not None:
                    self._channel.aclose()
                self._channel = Channel.open(self._address, self._patience)
                welcome = self._channel.welcome
                self._packer = Packer(welcome.manager, computer=welcome.name)
            return self._channel

    def _repeat(self, work: Callable[[Channel], T]) -> T:
        """Do what may be done again, until a connection lasts so long."""
        delay, most = BACK_OFF
        waited = 0.0
        while True:
            try:
                return work(self.connect())
            except ServiceNotAvailable:
                if waited >= self._reconnect or self._is_closed:
                    raise
            pause(delay)
            waited += delay
            delay = min(2 * delay, most)

    def _call(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that may be made again."""

        def work(channel: Channel) -> Members:
            return _ask(channel, call, wait, **arguments)

        return self._repeat(work)

    def _call_once(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that must not be made twice."""
        channel = self._repeat(_same)
        return _ask(channel, call, wait, **arguments)

    def _number(self, channel: Channel, handle: Handle) -> int:
        """The number that a queue is open under on this connection."""
        assert isinstance(handle, RemoteHandle)
        if handle.is_closed:
            raise InvalidHandle("the queue is closed")
        if handle.channel is not channel:
            answer = _ask(channel, "open_queue", **_opening(handle.opened_as, handle.asked))
            handle.channel, handle.number = channel, answer.integer("handle")
        return handle.number

    def _call_queue(self, handle: Handle, name: str, **arguments: Any) -> Members:
        def work(channel: Channel) -> Members:
            number = self._number(channel, handle)
            return _ask(channel, name, None, handle=number, **arguments)

        return self._repeat(work)

    @property
    def name(self) -> str:
        """What other computers call the manager's computer."""
        return self._known.welcome.name

    @property
    def id(self) -> str:
        """The GUID of the queue manager."""
        return str(self._known.welcome.manager)

    @property
    def state(self) -> str:
        """`ready` while there is a connection."""
        return "ready" if self._channel is not None and self._channel.is_open else "stopped"

    @property
    def _known(self) -> Channel:
        if self._channel is None:
            raise ServiceNotAvailable(f"{self._address}: not connected yet")
        return self._channel

    def close(self) -> None:
        self._is_closed = True
        if self._channel is not None:
            self._channel.aclose()

    # Queues

    def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        self._call_once("create_queue", name=name, **_written(properties))

    def delete_queue(self, name: str) -> None:
        self._call_once("delete_queue", None, name=name)

    def open_queue(self, name: str, mode: Mode) -> RemoteHandle:
        def work(channel: Channel) -> RemoteHandle:
            answer = _ask(channel, "open_queue", **_opening(name, mode))
            words = answer.texts("access")
            access = Access(0)
            for kind, word in _ACCESS.items():
                access |= kind if word in words else Access(0)
            handle = RemoteHandle(answer.text("name"), Mode(access, mode.share), name, mode)
            handle.channel, handle.number = channel, answer.integer("handle")
            return handle

        return self._repeat(work)

    def close_queue(self, handle: Handle) -> None:
        assert isinstance(handle, RemoteHandle)
        handle.is_closed = True
        channel = handle.channel
        if channel is not None and channel.is_open and not self._is_closed:
            _ask(channel, "close_queue", handle=handle.number)

    def queues(self, *, everything: bool) -> list[QueueInfo]:
        answer = self._call("queues", everything=everything)
        return [_info(item) for item in answer.objects("queues")]

    def queue_info(self, handle: Handle) -> QueueInfo:
        return _info(self._call_queue(handle, "queue_info").object("queue"))

    def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        self._call_queue(handle, "set_queue", **_written(changes))

    def purge(self, handle: Handle) -> int:
        return self._call_queue(handle, "purge").integer("count", maximum=1 << 62)

    def pause(self, handle: Handle) -> None:
        self._call_queue(handle, "pause")

    def resume(self, handle: Handle) -> None:
        self._call_queue(handle, "resume")

    # Messages

    def send(
        self, handle: Handle, messages: list[Message], work: Work | None
    ) -> Sequence[str]:
        channel = self._repeat(_same) if work is None else self._own(work)
        number = self._number(channel, handle)
        assert self._packer is not None
        packets = self._packer.pack_many(messages, _ANYWHERE, first_id=0, sent_time=0)
        payload = app.Send(number, _work_number(work), tuple(packets)).parts()
        sent = app.Sent.decode(channel.request(Kind.SEND, *payload, wait=60).payload)
        return MessageIds(channel.welcome.manager, sent.first_id, sent.count)

    def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        if work is not None or cursor is not None:
            if work is not None:
                self._own(work)
            channel = _channel(work or cursor)
            return self._read(channel, handle, read, work, cursor)

        def again(channel: Channel) -> list[ReceivedMessage]:
            return self._read(channel, handle, read, None, None)

        return self._repeat(again)

    def _read(
        self,
        channel: Channel,
        handle: Handle,
        read: Read,
        work: Work | None,
        cursor: CursorHandle | None,
    ) -> list[ReceivedMessage]:
        number = self._number(channel, handle)
        timeout = None if read.timeout is None or read.timeout > WAIT_MAX else read.timeout
        payload = _read_payload(number, read, timeout, work, cursor)
        if not read.take or work is not None:
            frame = channel.request(Kind.READ, payload, wait=timeout)
            return _received(app.Messages.decode(frame.payload).messages)
        frame = channel.take(number, payload, wait=timeout)
        found = app.Messages.decode(frame.payload).messages
        lookups = tuple(message.lookup_id for message in found)
        end = app.End(number, 0, app.Action.REMOVE, lookups).encode()
        try:
            channel.request(Kind.END, end, wait=60)
        except ConnectionLost:
            # Whether they are gone nobody knows: better twice than never.
            return _received(found)
        return _received(found)

    def subscribe(self, handle: Handle, prefetch: int) -> RemoteSubscription:
        def work(channel: Channel) -> RemoteSubscription:
            assert isinstance(handle, RemoteHandle)
            number = self._number(channel, handle)
            payload = app.Subscribe(number, prefetch).encode()
            subscription = RemoteSubscription(self, handle, *channel.subscribe(payload))
            handle.subscription = subscription
            return subscription

        return self._repeat(work)

    def end(
        self, handle: Handle, lookups: list[int], work: Work | None, *, remove: bool
    ) -> None:
        assert isinstance(handle, RemoteHandle)
        channel = handle.channel
        if channel is None or not channel.is_open:
            if remove:
                raise ConnectionLost("the messages are back in their places")
            return
        if work is not None:
            self._own(work)
        action = app.Action.REMOVE if remove else app.Action.RETURN
        payload = app.End(handle.number, _work_number(work), action, tuple(lookups)).encode()
        channel.request(Kind.END, payload, wait=60)
        if handle.subscription is not None:
            handle.subscription.ended(len(lookups))

    def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        channel = self._repeat(_same) if work is None else self._own(work)
        number = self._number(channel, handle)
        _ask(
            channel,
            "move",
            60,
            handle=number,
            lookup_id=lookup_id,
            target=target,
            transaction=_work_number(work),
        )

    def open_cursor(self, handle: Handle) -> RemoteCursor:
        def work(channel: Channel) -> RemoteCursor:
            number = self._number(channel, handle)
            answer = _ask(channel, "open_cursor", handle=number)
            return RemoteCursor(channel, answer.integer("cursor"))

        return self._repeat(work)

    def close_cursor(self, cursor: CursorHandle) -> None:
        assert isinstance(cursor, RemoteCursor)
        if cursor.channel.is_open and not cursor.is_closed:
            cursor.is_closed = True
            _ask(cursor.channel, "close_cursor", cursor=cursor.number)

    # Transactions

    def begin(self, xid: str) -> RemoteWork:
        def work(channel: Channel) -> RemoteWork:
            answer = _ask(channel, "begin", xid=xid)
            return RemoteWork(self, channel, answer.integer("transaction"))

        return self._repeat(work)

    def prepare(self, work: Work) -> None:
        _ask(self._own(work), "prepare", 60, transaction=_work_number(work))

    def commit(self, work: Work) -> None:
        _ask(self._own(work), "commit", 60, transaction=_work_number(work))

    def abort(self, work: Work) -> None:
        assert isinstance(work, RemoteWork)
        if work.channel.is_open:  # else it is aborted
            _ask(work.channel, "abort", 60, transaction=work.number)

    def prepared(self) -> list[str]:
        return list(self._call("prepared").texts("xids"))

    def commit_prepared(self, xid: str) -> None:
        self._call("commit_prepared", 60, xid=xid)

    def abort_prepared(self, xid: str) -> None:
        self._call("abort_prepared", 60, xid=xid)

    def commit_epoch(self, writer: str, epoch: int, winners: list[str]) -> bool:
        answer = self._call("commit_epoch", 60, query=writer, epoch=epoch, winners=winners)
        return answer.flag("applied")

    def _own(self, work: Work) -> Channel:
        """The connection of a transaction, which must be one of this manager."""
        if not isinstance(work, RemoteWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        return _channel(work)

    # The manager

    def explain(self, message_id: str) -> list[HistoryEvent]:
        answer = self._call("explain", message_id=message_id)
        return [_event(item) for item in answer.objects("events")]

    def statistics(self) -> dict[str, int]:
        counts = self._call("statistics").object("counts").values
        return {name: int(count) for name, count in counts.items()}  # type: ignore[arg-type]

    def settings(self) -> Settings:
        values = self._call("settings").object("settings").values
        known = {name: values[name] for name in Settings.__dataclass_fields__ if name in values}
        return Settings(**known)  # type: ignore[arg-type]

    def configure(self, changes: dict[str, Any]) -> None:
        self._call("configure", **changes)


def _same(channel: Channel) -> Channel:
    return channel


def _ask(channel: Channel, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
    frame: Frame = channel.request(
        Kind.CALL, Call(call, Arguments(arguments)).encode(), wait=wait
    )
    return Members.decode(frame.payload)


def _channel(bound: Work | CursorHandle | None) -> Channel:
    """The connection that a transaction or cursor belongs to."""
    if isinstance(bound, RemoteWork | RemoteCursor):
        if not bound.channel.is_open:
            is_work = isinstance(bound, RemoteWork)
            raise TransactionSequence(LOST) if is_work else InvalidHandle("the cursor is gone")
        return bound.channel
    raise TransactionSequence("the transaction belongs to another queue manager")


def _work_number(work: Work | None) -> int:
    if work is None:
        return 0
    _channel(work)
    assert isinstance(work, RemoteWork)
    return work.number


def _opening(name: str, mode: Mode) -> dict[str, Any]:
    words = [word for access, word in _ACCESS.items() if mode.access & access]
    share = "receive" if mode.share is Share.DENY_RECEIVE else "none"
    return {"name": name, "access": words, "share": share}


def _written(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, UUID) else value for name, value in properties.items()
    }


def _read_payload(
    number: int,
    read: Read,
    timeout: float | None,
    work: Work | None,
    cursor: CursorHandle | None,
) -> bytes:
    seek = app.Seek.HEAD
    if read.lookup_id is not None:
        seek = _SEEKS[read.seek]
    elif read.following:
        seek = app.Seek.NEXT
    return app.Read(
        number,
        _work_number(work),
        cursor.number if isinstance(cursor, RemoteCursor) else 0,
        (read.lookup_id or 0) & 0xFFFFFFFFFFFFFFFF,
        read.count,
        INFINITE if timeout is None else round(timeout * 1000),
        app.Mode.TAKE if read.take else app.Mode.PEEK,
        seek,
    ).encode()


def _received(found: Sequence[app.QueuedMessage]) -> list[ReceivedMessage]:
    return [
        ReceivedMessage(
            packet,
            lookup_id=lookup,
            arrival=lookup & ARRIVAL_MASK,
            arrived=arrived,
            abort_count=aborts,
            move_count=moves,
            message_class=reason,
        )
        for lookup, arrived, aborts, moves, reason, packet in found
    ]


def _info(item: Members) -> QueueInfo:
    known = {name: item.values.get(name) for name in QueueInfo.__dataclass_fields__}
    known |= {"id": UUID(item.text("id")), "type": UUID(item.text("type"))}  # type: ignore[dict-item]
    return QueueInfo(**known)  # type: ignore[arg-type]


def _event(item: Members) -> HistoryEvent:
    time = datetime.fromisoformat(item.text("time"))
    known = {name: item.values.get(name) for name in HistoryEvent.__dataclass_fields__}
    return HistoryEvent(**{**known, "time": time})  # type: ignore[arg-type]
