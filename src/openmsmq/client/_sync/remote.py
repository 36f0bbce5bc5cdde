"""Written from `_async/remote.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.members import Members
from openmsmq.client import payloads as remote
from openmsmq.client._sync.channel import Channel
from openmsmq.client._sync.remote_calls import RemoteCalls
from openmsmq.client._sync.remote_parts import (
    RemoteCursor,
    RemoteHandle,
    RemoteReader,
    RemoteSubscription,
    RemoteWork,
    ask,
)
from openmsmq.client._sync.sleep import pause, run_once
from openmsmq.client.address import Address
from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.payloads import BACK_OFF, LOST, STEADY
from openmsmq.client.requests import ENDED, SLOW
from openmsmq.errors import (
    InvalidHandle,
    QueueNotFound,
    ServiceNotAvailable,
    TransactionSequence,
)
from openmsmq.limits import U64_MAX
from openmsmq.types.access import Mode
from openmsmq.types.delivery import Delivery
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.pack import Packer
from openmsmq.types.peers import PeerInfo
from openmsmq.types.queues import QueueInfo, by_name
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage

T = TypeVar("T")


class Remote(RemoteCalls):
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
                made = Channel.open(self._address, self._patience)
                if self._is_closed:
                    made.aclose()
                    raise InvalidHandle("the queue manager is closed")
                self._channel = made
                self._packer = Packer(made.welcome.manager, computer=made.welcome.name)
            return self._channel

    def _repeat(self, work: Callable[[Channel], T]) -> T:
        """Do what may be done again, until a connection lasts so long."""
        delay, most = BACK_OFF
        limit: float | None = None
        while True:
            begun: float | None = None
            try:
                channel = self.connect()
                begun = monotonic()
                return work(channel)
            except ServiceNotAvailable:
                now = monotonic()
                if limit is None or (begun is not None and now - begun > STEADY):
                    limit, delay = now + self._reconnect, BACK_OFF[0]
                if self._is_closed or now >= limit:
                    raise
            pause(min(delay, limit - now))
            delay = min(2 * delay, most)

    def _call(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that may be made again."""

        def work(channel: Channel) -> Members:
            return ask(channel, call, wait, **arguments)

        return self._repeat(work)

    def _call_once(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that must not be made twice."""
        channel = self._repeat(_same)
        return ask(channel, call, wait, **arguments)

    def _number(self, channel: Channel, handle: Handle) -> int:
        """The number that a queue is open under on this connection."""
        assert isinstance(handle, RemoteHandle)
        if handle.is_closed:
            raise InvalidHandle("the queue is closed")
        known, number = handle.opened
        if known is channel:
            return number
        with handle.opening:
            known, number = handle.opened
            if known is not channel:
                asked = remote.opening(handle.opened_as, handle.asked)
                number = ask(channel, "open_queue", **asked).integer("handle")
                handle.opened = channel, number
            return number

    def _ready(self, handle: Handle, work: Work | None) -> tuple[Channel, int]:
        """A connection on which a queue is open, for what must not be done twice."""

        def ready(channel: Channel) -> tuple[Channel, int]:
            return channel, self._number(channel, handle)

        return (self._repeat(ready) if work is None else ready(self._own(work)))

    def _call_queue(
        self, handle: Handle, name: str, wait: float | None = SLOW, /, **arguments: Any
    ) -> Members:
        def work(channel: Channel) -> Members:
            number = self._number(channel, handle)
            return ask(channel, name, wait, handle=number, **arguments)

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
        self._call_once("create_queue", name=name, **remote.written(properties))

    def delete_queue(self, name: str) -> None:
        self._call_once("delete_queue", None, name=name)

    def open_queue(self, name: str, mode: Mode) -> RemoteHandle:
        def work(channel: Channel) -> RemoteHandle:
            answer = ask(channel, "open_queue", **remote.opening(name, mode))
            number, allowed = answer.integer("handle"), remote.opened(answer, mode)
            return RemoteHandle(answer.text("name"), allowed, name, mode, (channel, number))

        return self._repeat(work)

    def close_queue(self, handle: Handle) -> None:
        assert isinstance(handle, RemoteHandle)
        handle.is_closed = True
        channel, number = handle.opened
        if channel.is_open and not self._is_closed:
            with contextlib.suppress(*ENDED):  # which closes it, too
                ask(channel, "close_queue", handle=number)

    def queues(self, *, everything: bool) -> list[QueueInfo]:
        def work(channel: Channel) -> list[QueueInfo]:
            given = remote.listing(channel.welcome, everything=everything)
            found: list[QueueInfo] = []
            while True:
                answer = ask(channel, "queues", **given)
                found += [remote.queue_info(item) for item in answer.objects("queues")]
                if not answer.has("next"):
                    return by_name(found)
                given["after"] = answer.integer("next")

        return self._repeat(work)

    def outgoing(self) -> list[OutgoingInfo]:
        answer = self._call("outgoing")
        return [remote.outgoing_info(item) for item in answer.objects("queues")]

    def peers(self) -> list[PeerInfo]:
        answer = self._call("peers")
        return [remote.peer_info(item) for item in answer.objects("peers")]

    def queue_info(self, handle: Handle) -> QueueInfo:
        return remote.queue_info(self._call_queue(handle, "queue_info").object("queue"))

    def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        self._call_queue(handle, "set_queue", **remote.written(changes))

    def purge(self, handle: Handle) -> int:
        return self._call_queue(handle, "purge", None).integer("count", maximum=1 << 62)

    def pause(self, handle: Handle) -> None:
        self._call_queue(handle, "pause")

    def resume(self, handle: Handle) -> None:
        self._call_queue(handle, "resume")

    def retry(self, handle: Handle) -> None:
        self._call_queue(handle, "retry")

    # Messages

    def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: Delivery | None,
    ) -> Sequence[SentId]:
        if delivery is not None and delivery.once and work is None:

            def again(channel: Channel) -> Sequence[SentId]:
                return self._send(channel, handle, messages, work, delivery)

            return self._repeat(again)
        channel, _ = self._ready(handle, work)
        return self._send(channel, handle, messages, work, delivery)

    def _send(
        self,
        channel: Channel,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: Delivery | None,
    ) -> Sequence[SentId]:
        number, transaction = self._number(channel, handle), _number_of(work)
        assert self._packer is not None
        packets = self._packer.pack_many(messages, remote.ANYWHERE, first_id=0, sent_time=0)
        each = 0
        if delivery is not None:
            remote.require(channel.welcome, "post")
            each = remote.id_room(delivery)
        batches = remote.send_batches(
            packets, channel.welcome.max_frame, together=work is None, each=each
        )
        ids: list[Sequence[SentId]] = []
        done = 0
        for batch in batches:
            if delivery is None:
                parts = app.Send(number, transaction, tuple(batch)).parts()
                frame = channel.request(Kind.SEND, *parts, wait=SLOW)
            else:
                parts = remote.post(number, transaction, batch, delivery, done).parts()
                frame = channel.request(Kind.POST, *parts, wait=SLOW)
            ids.append(remote.sent(channel.welcome.manager, frame))
            done += len(batch)
        return ids[0] if len(ids) == 1 else [one for some in ids for one in some]

    def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        limit = None if read.timeout is None else monotonic() + read.timeout

        def again(channel: Channel) -> list[ReceivedMessage]:
            left = None if limit is None else max(0.0, limit - monotonic())
            return self._read(channel, handle, read, left, work, cursor)

        if work is None and cursor is None:
            return self._repeat(again)
        return again(self._bound(work, cursor))

    def _read(
        self,
        channel: Channel,
        handle: Handle,
        read: Read,
        timeout: float | None,
        work: Work | None,
        cursor: CursorHandle | None,
    ) -> list[ReceivedMessage]:
        number = self._number(channel, handle)
        wait = remote.wait_of(timeout)
        place = cursor.number if isinstance(cursor, RemoteCursor) else 0
        transaction = _number_of(work)
        payload = remote.read_payload(number, read, wait, transaction=transaction, cursor=place)
        removes = read.take and work is None
        frame = channel.read(payload, wait=wait, held=number if removes else 0)
        found = app.Messages.decode(frame.payload).messages
        if removes:
            channel.remove(number, [message.lookup_id for message in found])
        return remote.received(found)

    def read_packed(self, handle: Handle, read: Read) -> bytes:
        def again(channel: Channel) -> bytes:
            wait = remote.wait_of(read.timeout)
            payload = remote.read_payload(self._number(channel, handle), read, wait)
            return channel.read(payload, wait=wait, held=0).payload

        return self._repeat(again)

    def subscribe(self, handle: Handle, prefetch: int) -> RemoteSubscription:
        def work(channel: Channel) -> RemoteSubscription:
            number = self._number(channel, handle)
            subscription = RemoteSubscription(self, channel, number)
            subscription.begin(prefetch)
            return subscription

        return self._repeat(work)

    def open_reader(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> RemoteReader:
        made = RemoteReader(self, handle, name, copy=copy, owner=owner)
        self._repeat(made.number)
        return made

    def ask_for_reader(
        self, channel: Channel, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> Members:
        """Open a subscription on a connection; of a queue that is deleted, what is left of it."""
        remote.require(channel.welcome, "reserve")
        given = {"name": name}
        if owner:
            remote.require(channel.welcome, "owners")
            given["owner"] = owner
        try:
            number = self._number(channel, handle)
        except QueueNotFound:
            return ask(channel, "open_reader", queue=handle.name, **given)
        return ask(channel, "open_reader", SLOW, handle=number, copy=copy, **given)

    def ask_reader(self, reader: RemoteReader, call: str, **arguments: Any) -> Members:
        """Make a call about a subscription, all of which may be made again."""

        def work(channel: Channel) -> Members:
            number = reader.number(channel)
            return ask(channel, call, SLOW, reader=number, **arguments)

        return self._repeat(work)

    def fetch(self, reader: RemoteReader, after: int, last: int) -> bytes:
        """What a subscription was given, as the payload of MESSAGES."""

        def work(channel: Channel) -> bytes:
            payload = app.Fetch(reader.number(channel), after, last).encode()
            return channel.request(Kind.FETCH, payload, wait=SLOW).payload

        return self._repeat(work)

    def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        given = {"unread": True} if unread else {}
        answer = self._call_once("drop_subscription", None, name=name, queue=queue, **given)
        return answer.integer("count", maximum=U64_MAX)

    def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        channel, number = self._ready(handle, work)
        given = {"handle": number, "lookup_id": lookup_id, "target": target}
        ask(channel, "move", SLOW, **given, transaction=_number_of(work))

    def open_cursor(self, handle: Handle) -> RemoteCursor:
        def work(channel: Channel) -> RemoteCursor:
            number = self._number(channel, handle)
            answer = ask(channel, "open_cursor", handle=number)
            return RemoteCursor(channel, answer.integer("cursor"))

        return self._repeat(work)

    def close_cursor(self, cursor: CursorHandle) -> None:
        assert isinstance(cursor, RemoteCursor)
        if cursor.channel.is_open and not cursor.is_closed:
            cursor.is_closed = True
            with contextlib.suppress(*ENDED):
                ask(cursor.channel, "close_cursor", cursor=cursor.number)

    # Transactions

    def begin(self, xid: str, *, stage: bool) -> RemoteWork:
        given: dict[str, Any] = {"xid": xid, "stage": True} if stage else {"xid": xid}

        def work(channel: Channel) -> RemoteWork:
            answer = ask(channel, "begin", **given)
            return RemoteWork(self, channel, answer.integer("transaction"))

        return self._repeat(work)

    def prepare(self, work: Work) -> None:
        self._ask_of(work, "prepare")

    def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        given = {"participants": list(participants)} if participants else {}
        self._ask_of(work, "commit", **given)

    def abort(self, work: Work) -> None:
        assert isinstance(work, RemoteWork)
        with contextlib.suppress(*ENDED):  # which aborts it, too
            if work.channel.is_open:
                self._ask_of(work, "abort")

    def _ask_of(self, work: Work, call: str, **given: Any) -> None:
        ask(self._own(work), call, SLOW, transaction=_number_of(work), **given)

    def is_open(self, work: Work) -> bool:
        assert isinstance(work, RemoteWork)
        return work.channel.is_open

    def _own(self, work: Work) -> Channel:
        """The connection of a transaction, which must be one of this manager."""
        if not isinstance(work, RemoteWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        if not work.channel.is_open:
            raise TransactionSequence(LOST)
        return work.channel

    def number_of(self, work: Work) -> int:
        """What a transaction is called on its connection."""
        self._own(work)
        assert isinstance(work, RemoteWork)
        return work.number

    def _bound(self, work: Work | None, cursor: CursorHandle | None) -> Channel:
        """The connection that a transaction or cursor belongs to, or both."""
        channel = None if work is None else self._own(work)
        if isinstance(cursor, RemoteCursor):
            if not cursor.channel.is_open or channel not in (None, cursor.channel):
                raise InvalidHandle("the connection was lost, and with it the cursor")
            channel = cursor.channel
        assert channel is not None
        return channel


def _same(channel: Channel) -> Channel:
    return channel


def _number_of(work: Work | None) -> int:
    """What a transaction is called on its connection; 0 for none."""
    return work.number if isinstance(work, RemoteWork) else 0
