"""The API's backend in a service.

The connection is made when it is needed and made again when it was lost. What is safe to repeat is
repeated then; what is not fails with `ConnectionLost`, and the caller decides. Open queues are
opened again transparently; a transaction that was open is aborted and says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Sequence
from time import monotonic
from typing import Any, TypeVar

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.limits import REDIRECT_MAX
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import QueuedSlice, SendRun
from openmsmq.client import payloads as remote
from openmsmq.client._async.channel import Channel
from openmsmq.client._async.remote_calls import RemoteCalls
from openmsmq.client._async.remote_parts import (
    RemoteCursor,
    RemoteHandle,
    RemoteStream,
    RemoteSubscription,
    RemoteWork,
    ask,
    same,
    send_run,
)
from openmsmq.client._async.sleep import pause, run_once
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
from openmsmq.limits import U32_MAX, U64_MAX
from openmsmq.types.access import Mode
from openmsmq.types.delivery import DeliveryOptions, RedirectOptions
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.pack import Packer
from openmsmq.types.peers import MulticastInfo, PeerInfo
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

    async def connect(self) -> Channel:
        """The connection, made if there is none."""
        if self._is_closed:
            raise InvalidHandle("the queue manager is closed")
        channel = self._channel
        if channel is not None and channel.is_open:
            return channel
        async with self._connecting:
            if self._channel is None or not self._channel.is_open:
                made = await Channel.open(self._address, self._patience)
                if self._is_closed:
                    await made.aclose()
                    raise InvalidHandle("the queue manager is closed")
                self._channel = made
                self._packer = Packer(made.welcome.manager, computer=made.welcome.name)
            return self._channel

    async def _repeat(self, work: Callable[[Channel], Coroutine[Any, Any, T]]) -> T:
        """Do what may be done again, until a connection lasts so long."""
        delay, most = BACK_OFF
        limit: float | None = None
        while True:
            begun: float | None = None
            try:
                channel = await self.connect()
                begun = monotonic()
                return await work(channel)
            except ServiceNotAvailable:
                now = monotonic()
                if limit is None or (begun is not None and now - begun > STEADY):
                    limit, delay = now + self._reconnect, BACK_OFF[0]
                if self._is_closed or now >= limit:
                    raise
            await pause(min(delay, limit - now))
            delay = min(2 * delay, most)

    async def _call(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that may be made again."""

        async def work(channel: Channel) -> Members:
            return await ask(channel, call, wait, **arguments)

        return await self._repeat(work)

    async def _call_once(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that must not be made twice."""
        channel = await self._repeat(same)
        return await ask(channel, call, wait, **arguments)

    async def _number(self, channel: Channel, handle: Handle) -> int:
        """The number that a queue is open under on this connection."""
        assert isinstance(handle, RemoteHandle)
        if handle.is_closed:
            raise InvalidHandle("the queue is closed")
        known, number = handle.opened
        if known is channel:
            return number
        async with handle.opening:
            known, number = handle.opened
            if known is not channel:
                asked = remote.opening(channel.welcome, handle.opened_as, handle.asked)
                number = (await ask(channel, "open_queue", **asked)).integer("handle")
                handle.opened = channel, number
            return number

    async def _ready(self, handle: Handle, work: Work | None) -> tuple[Channel, int]:
        """A connection on which a queue is open, for what must not be done twice."""
        assert isinstance(handle, RemoteHandle)
        if work is None and not self._is_closed and handle.is_opened_on(self._channel):
            return handle.opened

        async def ready(channel: Channel) -> tuple[Channel, int]:
            return channel, await self._number(channel, handle)

        return await (self._repeat(ready) if work is None else ready(self._own(work)))

    async def _call_queue(
        self, handle: Handle, name: str, wait: float | None = SLOW, /, **arguments: Any
    ) -> Members:
        async def work(channel: Channel) -> Members:
            number = await self._number(channel, handle)
            return await ask(channel, name, wait, handle=number, **arguments)

        return await self._repeat(work)

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

    async def close(self) -> None:
        self._is_closed = True
        if self._channel is not None:
            await self._channel.aclose()

    # Queues

    async def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        await self._call_once("create_queue", name=name, **remote.written(properties))

    async def delete_queue(self, name: str) -> None:
        await self._call_once("delete_queue", None, name=name)

    async def open_queue(self, name: str, mode: Mode) -> RemoteHandle:
        async def work(channel: Channel) -> RemoteHandle:
            answer = await ask(channel, "open_queue", **remote.opening(channel.welcome, name, mode))
            number, allowed = answer.integer("handle"), remote.opened(answer, mode)
            return RemoteHandle(answer.text("name"), allowed, name, mode, (channel, number))

        return await self._repeat(work)

    async def close_queue(self, handle: Handle) -> None:
        assert isinstance(handle, RemoteHandle)
        handle.is_closed = True
        channel, number = handle.opened
        if channel.is_open and not self._is_closed:
            with contextlib.suppress(*ENDED):  # which closes it, too
                await ask(channel, "close_queue", handle=number)

    async def queues(self, *, everything: bool) -> list[QueueInfo]:
        async def work(channel: Channel) -> list[QueueInfo]:
            given = remote.listing(channel.welcome, everything=everything)
            found: list[QueueInfo] = []
            while True:
                answer = await ask(channel, "queues", **given)
                found += [remote.queue_info(item) for item in answer.objects("queues")]
                if not answer.has("next"):
                    return by_name(found)
                given["after"] = answer.integer("next")

        return await self._repeat(work)

    async def outgoing(self) -> list[OutgoingInfo]:
        answer = await self._call("outgoing")
        return [remote.outgoing_info(item) for item in answer.objects("queues")]

    async def peers(self) -> list[PeerInfo]:
        answer = await self._call("peers")
        return [remote.peer_info(item) for item in answer.objects("peers")]

    async def multicast(self) -> list[MulticastInfo]:
        answer = await self._call("multicast")
        return [remote.multicast_info(item) for item in answer.objects("sessions")]

    async def queue_info(self, handle: Handle) -> QueueInfo:
        return remote.queue_info((await self._call_queue(handle, "queue_info")).object("queue"))

    async def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        await self._call_queue(handle, "set_queue", **remote.written(changes))

    async def permissions(self, handle: Handle) -> str:
        return (await self._call_queue(handle, "permissions")).text("permissions")

    async def set_permissions(self, handle: Handle, sddl: str) -> None:
        await self._call_queue(handle, "set_permissions", permissions=sddl)

    async def purge(self, handle: Handle) -> int:
        return (await self._call_queue(handle, "purge", None)).integer("count", maximum=1 << 62)

    async def pause(self, handle: Handle) -> None:
        await self._call_queue(handle, "pause")

    async def resume(self, handle: Handle) -> None:
        await self._call_queue(handle, "resume")

    async def retry(self, handle: Handle) -> None:
        await self._call_queue(handle, "retry")

    # Messages

    async def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        if delivery is not None and delivery.dedup_ids and work is None:

            async def again(channel: Channel) -> Sequence[SentId]:
                number = await self._number(channel, handle)
                return await self._send(channel, number, handle.name, messages, work, delivery)

            return await self._repeat(again)
        channel, number = await self._ready(handle, work)
        return await self._send(channel, number, handle.name, messages, work, delivery)

    async def _send(
        self,
        channel: Channel,
        number: int,
        queue: str,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        assert self._packer is not None
        run = remote.run_of(self._packer, channel.welcome, queue, messages, delivery)
        if run is not None:
            joined = SendRun(number, _number_of(work), len(messages), run)
            return await send_run(channel, joined)
        packets = remote.packed(self._packer, queue, messages, transactional=work is not None)
        return await self._send_packed(channel, number, packets, work, delivery)

    async def send_packets(
        self, handle: Handle, packets: Sequence[bytes], work: Work | None
    ) -> Sequence[SentId]:
        channel, number = await self._ready(handle, work)
        if remote.may_go_joined(packets, channel.welcome):
            run = SendRun(number, _number_of(work), len(packets), packets.joined)
            return await send_run(channel, run)
        return await self._send_packed(channel, number, packets, work, None)

    async def _send_packed(
        self,
        channel: Channel,
        number: int,
        packets: Sequence[bytes],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        transaction = _number_of(work)
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
                frame = await channel.request(Kind.SEND, *parts, wait=SLOW)
            else:
                parts = remote.post(number, transaction, batch, delivery, done).parts()
                frame = await channel.request(Kind.POST, *parts, wait=SLOW)
            ids.append(remote.sent(channel.welcome.manager, frame))
            done += len(batch)
        return ids[0] if len(ids) == 1 else [one for some in ids for one in some]

    async def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        limit = None if read.timeout is None else monotonic() + read.timeout

        async def again(channel: Channel) -> list[ReceivedMessage]:
            left = None if limit is None else max(0.0, limit - monotonic())
            return await self._read(channel, handle, read, left, work, cursor)

        if work is None and cursor is None:
            return await self._repeat(again)
        return await again(self._bound(work, cursor))

    async def _read(
        self,
        channel: Channel,
        handle: Handle,
        read: Read,
        timeout: float | None,
        work: Work | None,
        cursor: CursorHandle | None,
    ) -> list[ReceivedMessage]:
        number = await self._number(channel, handle)
        wait = remote.wait_of(timeout)
        place = cursor.number if isinstance(cursor, RemoteCursor) else 0
        transaction = _number_of(work)
        payload = remote.read_payload(number, read, wait, transaction=transaction, cursor=place)
        removes = read.take and work is None
        frame = await channel.read(payload, wait=wait, held=number if removes else 0)
        found = remote.messages_in(frame)
        if removes:
            await channel.remove(number, [message.lookup_id for message in found])
        return found

    async def peek_slices(self, handle: Handle, read: Read) -> tuple[QueuedSlice, ...]:
        async def again(channel: Channel) -> tuple[QueuedSlice, ...]:
            wait = remote.wait_of(read.timeout)
            payload = remote.read_payload(await self._number(channel, handle), read, wait)
            return remote.slices_in(await channel.read(payload, wait=wait, held=0))

        return await self._repeat(again)

    async def open_stream(self, handle: Handle, prefetch: int) -> RemoteStream:
        async def work(channel: Channel) -> RemoteStream:
            number = await self._number(channel, handle)
            stream = RemoteStream(self, channel, number)
            await stream.begin(prefetch)
            return stream

        return await self._repeat(work)

    async def open_subscription(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> RemoteSubscription:
        made = RemoteSubscription(self, handle, name, copy=copy, owner=owner)
        await self._repeat(made.number)
        return made

    async def ask_for_subscription(
        self, channel: Channel, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> Members:
        """Open a subscription on a connection; of a queue that is deleted, what is left of it."""
        remote.require(channel.welcome, "reserve")
        given = {"name": name}
        if owner:
            remote.require(channel.welcome, "owners")
            given["owner"] = owner
        try:
            number = await self._number(channel, handle)
        except QueueNotFound:
            return await ask(channel, "open_reader", queue=handle.name, **given)
        return await ask(channel, "open_reader", SLOW, handle=number, copy=copy, **given)

    async def call_subscription(
        self, subscription: RemoteSubscription, call: str, **arguments: Any
    ) -> Members:
        """Make a call about a subscription, all of which may be made again."""

        async def work(channel: Channel) -> Members:
            number = await subscription.number(channel)
            return await ask(channel, call, SLOW, reader=number, **arguments)

        return await self._repeat(work)

    async def fetch(self, subscription: RemoteSubscription, after: int, last: int) -> Frame:
        """What a subscription was given."""

        async def work(channel: Channel) -> Frame:
            payload = app.Fetch(await subscription.number(channel), after, last).encode()
            return await channel.request(Kind.FETCH, payload, wait=SLOW)

        return await self._repeat(work)

    async def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        given = {"unread": True} if unread else {}
        answer = await self._call_once("drop_subscription", None, name=name, queue=queue, **given)
        return answer.integer("count", maximum=U64_MAX)

    async def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        channel, number = await self._ready(handle, work)
        given = {"handle": number, "lookup_id": lookup_id, "target": target}
        await ask(channel, "move", SLOW, **given, transaction=_number_of(work))

    async def reject(self, handle: Handle, lookup_id: int, work: Work | None) -> None:
        channel, number = await self._ready(handle, work)
        remote.require(channel.welcome, "reject")
        given = {"handle": number, "lookup_id": lookup_id}
        await ask(channel, "reject", SLOW, **given, transaction=_number_of(work))

    async def redirect(
        self, handle: Handle, lookups: list[int], target: Handle, options: RedirectOptions
    ) -> dict[int, SentId]:
        channel, number = await self._ready(handle, None)
        remote.require(channel.welcome, "redirect")
        given: dict[str, Any] = {
            "copy": options.copy,
            "target": await self._number(channel, target),
        }
        if not options.keeps_lifetime:
            seconds = options.time_to_be_received
            given["time_to_be_received"] = U32_MAX if seconds is None else seconds
        found: dict[int, SentId] = {}
        for start in range(0, len(lookups), REDIRECT_MAX):
            part = list(map(str, lookups[start : start + REDIRECT_MAX]))
            answer = await ask(channel, "redirect", SLOW, handle=number, lookup_ids=part, **given)
            ids = answer.object("ids").values
            found.update((int(lookup), SentId(text)) for lookup, text in ids.items())
        return found

    async def open_cursor(self, handle: Handle) -> RemoteCursor:
        async def work(channel: Channel) -> RemoteCursor:
            number = await self._number(channel, handle)
            answer = await ask(channel, "open_cursor", handle=number)
            return RemoteCursor(channel, answer.integer("cursor"))

        return await self._repeat(work)

    async def close_cursor(self, cursor: CursorHandle) -> None:
        assert isinstance(cursor, RemoteCursor)
        if cursor.channel.is_open and not cursor.is_closed:
            cursor.is_closed = True
            with contextlib.suppress(*ENDED):
                await ask(cursor.channel, "close_cursor", cursor=cursor.number)

    # Transactions

    async def begin(self, xid: str, *, stage: bool) -> RemoteWork:
        given: dict[str, Any] = {"xid": xid, "stage": True} if stage else {"xid": xid}

        async def work(channel: Channel) -> RemoteWork:
            answer = await ask(channel, "begin", **given)
            return RemoteWork(self, channel, answer.integer("transaction"))

        return await self._repeat(work)

    async def prepare(self, work: Work) -> None:
        await self._ask_of(work, "prepare")

    async def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        given = {"participants": list(participants)} if participants else {}
        await self._ask_of(work, "commit", **given)

    async def abort(self, work: Work) -> None:
        assert isinstance(work, RemoteWork)
        with contextlib.suppress(*ENDED):  # which aborts it, too
            if work.channel.is_open:
                await self._ask_of(work, "abort")

    async def _ask_of(self, work: Work, call: str, **given: Any) -> None:
        await ask(self._own(work), call, SLOW, transaction=_number_of(work), **given)

    async def is_open(self, work: Work) -> bool:
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


def _number_of(work: Work | None) -> int:
    """What a transaction is called on its connection; 0 for none."""
    return work.number if isinstance(work, RemoteWork) else 0
