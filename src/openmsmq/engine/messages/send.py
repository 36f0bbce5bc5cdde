"""Messages of programs on their way into queues: stamped, packed, and handed to the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.connectors import for_connector
from openmsmq.engine.arrivals.given_protection import GivenProtection, checked_message
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.number_reservation import has_message_ids
from openmsmq.engine.commit.run_rows import NewRun, keeps_runs
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.messages.dedup import dedup_key
from openmsmq.engine.messages.enqueue import Enqueuer
from openmsmq.engine.messages.stamp import Destination
from openmsmq.engine.messages.stamper import DeliveryFields, Stamped, Stamper
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER, Owed, owed_for
from openmsmq.engine.transactions.transaction import ManagedTransaction, packed_id
from openmsmq.errors import IllegalPropertyValue, InsufficientResources, PublicKeyDoesNotExist
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import MultipleName, PrivateName, PublicName, parse_format_name
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders
from openmsmq.packet.columns import numbered_packets, split_packets
from openmsmq.packet.encrypted import asking_for_privacy
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.trailer import letter_path
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import MessageIds, SentId, sent_id
from openmsmq.types.message import Message
from openmsmq.types.pack import PackedRun, Packer
from openmsmq.types.queues import QueueKind

_PRIVATE: Final = Owed.PRIVATE.value
_JOURNALING: Final = UserFlags.JN | UserFlags.JP


class Sender:
    """Sends the messages of programs."""

    def __init__(self, core: Core, *, computer: str) -> None:
        """`computer` is what others know this one by."""
        self._core = core
        self._computer = computer
        self._packer = Packer(core.identity, computer=computer)
        self._stamper_here = lru_cache(maxsize=1024)(self._new_stamper_here)
        "Stamps plain messages to a queue here, given its name."
        self._enqueuer = Enqueuer(core)

    def send(
        self,
        queue: ManagedQueue,
        messages: Sequence[Message],
        transaction: ManagedTransaction | None,
        delivery: DeliveryOptions | None = None,
        caller: Caller = INTERNAL,
    ) -> Future[Sequence[SentId]]:
        """Send messages to a queue, or to each of several: all of them or none.

        (Enqueue Message To An Open Queue, [MS-MQDMPR] 3.1.7.1.27; quotas are checked first, A-23.)
        """
        if delivery is None and self._takes_runs(queue, len(messages)):
            packed = self._packer.pack_run(messages, self._name_of(queue))
            run = None if packed is None else self._numbered(queue, packed, transaction)
            if run is not None:
                return self._send_numbered(queue, run, transaction, caller)
        headers = _headers(queue.name) if queue.members else NO_HEADERS

        def pack(target: ManagedQueue, first_id: int) -> list[NewMessage]:
            return self._pack(target, messages, transaction, first_id, headers)

        return self._send(queue, len(messages), pack, transaction, delivery, caller)

    def send_protected(
        self,
        queue: ManagedQueue,
        message: Message,
        given: GivenProtection,
        transaction: ManagedTransaction | None,
        caller: Caller = INTERNAL,
    ) -> Future[Sequence[SentId]]:
        """Send a message that a client elsewhere has signed or encrypted; its packet is made here.

        If the queue is here, the body is decrypted and the signature verified first; else its
        manager does it.
        """
        core, headers, cipher = self._core, given.headers, given.cipher
        is_here = queue.kind is not QueueKind.OUTGOING
        if is_here:
            transactional = _is_transactional(transaction, queue)

            def packed(unverified: OptionalHeaders) -> bytes:
                [packet] = self._packer.pack_many(
                    (message,),
                    given.destination,
                    first_id=0,
                    sent_time=0,
                    transactional=transactional,
                    headers=unverified,
                )
                return packet

            authenticate = queue.main.properties.authenticate
            headers, body = checked_message(
                given, packed, core.examiner, core.timeline.wall, authenticate=authenticate
            )
            message = replace(message, body=body)

        def pack(target: ManagedQueue, first_id: int) -> list[NewMessage]:
            new = self._pack(target, (message,), transaction, first_id, headers)
            if is_here and cipher is not None:  # the message still says how it came
                return [one._replace(packet=asking_for_privacy(one.packet, *cipher)) for one in new]
            return new

        return self._send(queue, 1, pack, transaction, None, caller)

    def send_packets(
        self,
        queue: ManagedQueue,
        packets: Sequence[bytes],
        transaction: ManagedTransaction | None,
        delivery: DeliveryOptions | None = None,
        caller: Caller = INTERNAL,
    ) -> Future[Sequence[SentId]]:
        """The same with messages that a program has packed.

        `Malformed` if one of them is none that a program may send.
        """
        core = self._core
        is_here = queue.kind is not QueueKind.OUTGOING and not queue.members
        if is_here and len(packets) == 1 and transaction is None and delivery is None:
            return self._send_one(queue, packets[0], caller)
        several = _headers(queue.name) if queue.members else NO_HEADERS

        def stamp(target: ManagedQueue, first_id: int) -> list[NewMessage]:
            transactional = _is_transactional(transaction, target)
            headers = _with_transaction(several) if transactional else several
            reach = core.settings.time_to_reach_queue if target.kind is QueueKind.OUTGOING else None
            stamper = _stamper(
                core.identity, *self._goal(target), headers, INFINITE if reach is None else reach
            )
            stamped = stamper.stamp(packets, first_id=first_id, sent_time=core.timeline.wall)
            return self._new(target, stamped, transactional=transactional)

        return self._send(queue, len(packets), stamp, transaction, delivery, caller)

    def _send_one(self, queue: ManagedQueue, packet: bytes, by: Caller) -> Future[Sequence[SentId]]:
        """Send one message to a queue here, outside transactions."""
        core = self._core
        first_id = core.numbers.message_id + 1
        stamper = self._stamper_here(queue.name)
        whole, way = stamper.stamp_one(packet, first_id, core.timeline.wall)
        new = [NewMessage(whole, *self._facts(queue, way, transactional=False))]
        if not has_message_ids(core.numbers, 1):
            _refuse_express([(queue, new)])
        core.take_message_ids(1)
        return self._enqueuer.send(queue, new, None, by, MessageIds(core.identity, first_id, 1))

    def _new_stamper_here(self, name: str) -> Stamper:
        goal = _direct_name(self._computer, name)
        return _stamper(self._core.identity, goal, NO_GUID, NO_HEADERS, INFINITE)

    def send_run(
        self,
        queue: ManagedQueue,
        packets: bytes,
        count: int,
        transaction: ManagedTransaction | None,
        caller: Caller = INTERNAL,
    ) -> Future[Sequence[SentId]]:
        """The same with packets one after the other, which stay as they are if they are plain."""
        if self._takes_runs(queue, count):
            run = self._stamped(queue, packets, count, transaction)
            if run is not None:
                return self._send_numbered(queue, run, transaction, caller)
        return self.send_packets(queue, split_packets(packets, count), transaction, None, caller)

    def _stamped(
        self,
        queue: ManagedQueue,
        packets: bytes,
        count: int,
        transaction: ManagedTransaction | None,
    ) -> NewRun | None:
        """Packets one after the other as they are sent; None if they are not plain."""
        core, is_outgoing = self._core, queue.kind is QueueKind.OUTGOING
        headers, mark, flags = NO_HEADERS, 0, 0
        if transaction is not None and not transaction.is_plain_to(queue):
            headers, mark = _with_transaction(NO_HEADERS), packed_id(transaction.number)
            flags = Owed.TRANSACTIONAL.value
        reach = core.settings.time_to_reach_queue if is_outgoing else INFINITE
        stamper = _stamper(core.identity, *self._goal(queue), headers, reach)
        first_id, now = core.numbers.message_id + 1, core.timeline.wall
        found = stamper.stamp_run(packets, count, first_id=first_id, sent_time=now, mark=mark)
        if found is None or not _is_plain(found.way):
            return None
        way = found.way
        if way.flags & UserFlags.JN:
            if is_outgoing:
                return None
            flags |= Owed.DEAD_LETTER.value
        expires = _expires(
            core.timeline.now, way.time_to_reach_queue, way.time_to_be_received, queue
        )
        return NewRun(found.packets, found.sizes, way.priority, flags, expires)

    def _takes_runs(self, queue: ManagedQueue, count: int) -> bool:
        """Whether this many messages to a queue may be stored as they come.

        Not those that may belong into a connector queue (`_placed`).
        """
        may_be_foreign = self._core.routes.connected and queue.kind is QueueKind.OUTGOING
        return not queue.members and not may_be_foreign and keeps_runs(queue, count)

    def _numbered(
        self, queue: ManagedQueue, run: PackedRun, transaction: ManagedTransaction | None
    ) -> NewRun | None:
        """Messages that this manager has packed, as they are sent."""
        if transaction is not None or queue.kind is QueueKind.OUTGOING:
            return self._stamped(queue, run.packets, len(run.sizes), transaction)
        first_id = self._core.numbers.message_id + 1 & U32_MAX
        if first_id + len(run.sizes) > U32_MAX:
            return None
        now = self._core.timeline.wall
        packets = numbered_packets(run.packets, run.sizes, first_id=first_id, sent_time=now)
        timeline = self._core.timeline
        start = max(now - timeline.shift, timeline.now)
        expires = _expires(start, INFINITE, run.time_to_be_received, queue)
        flags = Owed.DEAD_LETTER.value if run.dead_letter else 0
        return NewRun(packets, run.sizes, run.priority, flags, expires)

    def _send_numbered(
        self,
        queue: ManagedQueue,
        run: NewRun,
        transaction: ManagedTransaction | None,
        caller: Caller,
    ) -> Future[Sequence[SentId]]:
        core, count = self._core, len(run.sizes)
        self._enqueuer.check_run(queue, len(run.packets), transaction)
        ids = MessageIds(core.identity, core.numbers.message_id + 1, count)
        core.take_message_ids(count)
        return self._enqueuer.send_run(queue, run, transaction, caller, ids)

    def _send(
        self,
        queue: ManagedQueue,
        count: int,
        make: Callable[[ManagedQueue, int], list[NewMessage]],
        transaction: ManagedTransaction | None,
        delivery: DeliveryOptions | None,
        caller: Caller,
    ) -> Future[Sequence[SentId]]:
        """Send what `make` gives for each target and its first message number."""
        core = self._core
        first_id = core.numbers.message_id + 1
        targets = queue.members or (queue,)
        made = [
            (target, make(target, first_id + place * count)) for place, target in enumerate(targets)
        ]
        if delivery is not None:
            made = [(target, self._special(target, new, delivery)) for target, new in made]
        if core.routes.connected:
            made = [self._placed(target, new, transaction) for target, new in made]
        if queue.members:
            for target, new in made:
                self._enqueuer.check(target, new, transaction)
        total = count * len(targets)
        if not has_message_ids(core.numbers, total):
            _refuse_express(made)
        core.take_message_ids(total)  # before acknowledgements are sent and take the next
        if delivery is not None:
            return self._post(made, transaction, caller, first_id)
        ids = MessageIds(core.identity, first_id, total)
        for target, new in made:
            answer = self._enqueuer.send(target, new, transaction, caller, ids)
        return answer  # they are committed together, and the last is answered last

    def _placed(
        self, queue: ManagedQueue, new: list[NewMessage], transaction: ManagedTransaction | None
    ) -> tuple[ManagedQueue, list[NewMessage]]:
        """Messages for a foreign system that this manager speaks to go to a connector queue.

        ([MS-MQSO] 6.1.9.5; RT-22) There only TimeToBeReceived counts. Such a system has no key.
        """
        core = self._core
        if queue.kind is not QueueKind.OUTGOING:
            return queue, new
        name, manager = self._goal(queue)
        manager = name.guid if isinstance(name, PrivateName) else manager
        site = core.routes.connected.get(manager.bytes_le)
        if site is None:
            return queue, new
        if any(message.flags & _PRIVATE for message in new):
            raise PublicKeyDoesNotExist(f"{name}: a foreign system, to which nothing is encrypted")
        is_ordered = _is_transactional(transaction, queue)
        start = core.timeline.now
        return core.queues.connector(site, transactional=is_ordered), [
            for_connector(message._replace(expires=_life(message.packet, start))) for message in new
        ]

    def _special(
        self, queue: ManagedQueue, new: list[NewMessage], delivery: DeliveryOptions
    ) -> list[NewMessage]:
        """The same messages with ids and time of delivery; the disk keeps all of them."""
        timeline, due = self._core.timeline, 0
        if delivery.at or delivery.after:
            start = max(timeline.millis, delivery.at - timeline.shift * 1000)
            due = start + delivery.after
        keys = [dedup_key(queue, one) for one in delivery.dedup_ids] or [b""] * len(new)
        found = []
        for message, key in zip(new, keys, strict=True):
            if message.expires != NEVER and (message.expires + 1) * 1000 <= due:
                raise IllegalPropertyValue("deliver_at: the message would expire before")
            found.append(message._replace(express=False, due=due, dedup_key=key))
        return found

    def _post(
        self,
        made: list[tuple[ManagedQueue, list[NewMessage]]],
        transaction: ManagedTransaction | None,
        caller: Caller,
        first_id: int,
    ) -> Future[Sequence[SentId]]:
        """Send messages that are special, and answer when all are sent."""
        answer: Future[Sequence[SentId]] = Future()
        parts = [self._enqueuer.post(target, new, transaction, caller) for target, new in made]

        def posted() -> None:
            if answer.done or not all(part.done for part in parts):
                return
            for part in parts:
                if part.error is not None:
                    answer.fail(part.error)
                    return
            numbers = [number for part in parts for number in part.result()]
            answer.succeed(
                [
                    sent_id(self._core.identity, number, duplicate=number != own & U32_MAX)
                    for own, number in enumerate(numbers, first_id)
                ]
            )

        for part in parts:
            part.on_done = posted
        posted()
        return answer

    def _new(
        self, queue: ManagedQueue, stamped: list[Stamped], *, transactional: bool
    ) -> list[NewMessage]:
        """What the rules want to know of packets that were stamped."""
        new: list[NewMessage] = []
        for way, packets in stamped:
            facts = *self._facts(queue, way, transactional=transactional), 0, b""
            make = tuple.__new__
            new += [make(NewMessage, (packet, *facts)) for packet in packets]  # saves 0.3 µs
        return new

    def _facts(
        self, queue: ManagedQueue, way: DeliveryFields, *, transactional: bool
    ) -> tuple[int, int, bool, int]:
        """The priority of messages, when they expire, whether they are express, what is owed."""
        priority, reach, receive, flags, acknowledge, letters, private = way
        expires = _expires(self._core.timeline.now, reach, receive, queue)
        owed = 0
        if acknowledge or transactional or flags & _JOURNALING:
            owed = owed_for(flags, acknowledge)
        if letters:
            owed |= self._own_letters(letters, owed)
        if private:
            owed |= _PRIVATE
        return priority, expires, not flags & UserFlags.DM, owed

    def _own_letters(self, path: str, owed: int) -> int:
        """What is owed beside for a message that names a dead-letter queue, which must be one."""
        transactional = bool(owed & Owed.TRANSACTIONAL)
        self._core.queues.for_letters(path, transactional=transactional)
        return Owed.OWN_LETTERS.value

    def _goal(self, queue: ManagedQueue) -> tuple[FormatName, UUID]:
        """The name of a queue, and of a public one elsewhere the manager ([MS-MQQB] 3.1.7.4)."""
        name = self._name_of(queue)
        if isinstance(name, PublicName):
            return name, self._core.directory.owner(name)
        return name, NO_GUID

    def _name_of(self, queue: ManagedQueue) -> FormatName:
        if queue.kind is QueueKind.OUTGOING:
            return _format_name(queue.name)
        return _direct_name(self._computer, queue.name)

    def _pack(
        self,
        queue: ManagedQueue,
        messages: Sequence[Message],
        transaction: ManagedTransaction | None,
        first_id: int,
        headers: OptionalHeaders,
    ) -> list[NewMessage]:
        core = self._core
        now = core.timeline.wall
        transactional = _is_transactional(transaction, queue)
        is_outgoing = queue.kind is QueueKind.OUTGOING
        reach = core.settings.time_to_reach_queue if is_outgoing else None
        name, manager = self._goal(queue)
        packets = self._packer.pack_many(
            messages,
            name,
            first_id=first_id,
            sent_time=now,
            destination_manager=manager,
            transactional=transactional,
            time_to_reach_queue=reach,
            headers=headers,
        )
        start = max(now - core.timeline.shift, core.timeline.now)
        new = []
        for packet, message in zip(packets, messages, strict=True):
            expires = NEVER
            if message.time_to_be_received is not None:
                # Counted from now, as the packet's own clock is.
                expires = expiry(start, message.time_to_be_received, NEVER)
            if is_outgoing:
                limit = message.time_to_reach_queue
                expires = min(expires, expiry(start, reach if limit is None else limit, NEVER))
            priority = 0 if transactional else message.priority
            express = not (transactional or message.recoverable)
            owed = _owed(message, transactional=transactional)
            if message.dead_letter_queue is not None:
                owed |= self._own_letters(letter_path(packet), owed)
            if message.encrypt:
                owed |= _PRIVATE
            new.append(NewMessage(packet, priority, expires, express, owed))
        return new


def _is_transactional(transaction: ManagedTransaction | None, queue: ManagedQueue) -> bool:
    """Whether messages to a queue say that they were sent in a transaction."""
    return transaction is not None and not transaction.is_plain_to(queue)


def _refuse_express(made: list[tuple[ManagedQueue, list[NewMessage]]]) -> None:
    """Others are stored by the commit that reserves their identifiers; express ones by none."""
    if any(message.express for _, new in made for message in new):
        raise InsufficientResources(
            "no identifiers are left for express messages until the disk has taken a commit, for"
            " which it takes unusually long: try again, or send recoverable messages"
        )


def _expires(start: int, reach: int, receive: int, queue: ManagedQueue) -> int:
    """When messages expire that are sent now to a queue."""
    expires = NEVER if receive == INFINITE else expiry(start, receive, NEVER)
    if reach != INFINITE and queue.kind is QueueKind.OUTGOING:
        return min(expires, expiry(start, reach, NEVER))
    return expires


def _is_plain(way: DeliveryFields) -> bool:
    """Whether nothing is owed for messages that go this way, and they are kept on disk.

    Those that fail may become dead letters.
    """
    return (
        bool(way.flags & UserFlags.DM)
        and not way.flags & UserFlags.JP
        and not (way.acknowledge or way.letters or way.is_private)
    )


def _life(packet: bytes, start: int) -> int:
    """When a message must have been received that is sent now."""
    receive = PacketView(packet).time_to_be_received
    return NEVER if receive == INFINITE else expiry(start, receive, NEVER)


@lru_cache(maxsize=1024)
def _stamper(
    source: UUID, name: FormatName, manager: UUID, headers: OptionalHeaders, reach: int
) -> Stamper:
    destination = Destination.of(name, manager=manager)
    return Stamper(source, destination, headers=headers, time_to_reach_queue=reach)


@lru_cache(maxsize=256)
def _with_transaction(headers: OptionalHeaders) -> OptionalHeaders:
    return replace(headers, transaction=TransactionHeader())


def _owed(message: Message, *, transactional: bool) -> int:
    """What is to be done when this message arrives or leaves."""
    flags = (
        (UserFlags.JN if message.dead_letter else 0)
        | (UserFlags.JP if message.journal else 0)
        | (UserFlags.TH if transactional else 0)
    )
    acknowledge = 0 if message.admin_queue is None else message.acknowledge.value
    return owed_for(flags, acknowledge) if flags or acknowledge else 0


@lru_cache(maxsize=4096)
def _direct_name(computer: str, queue: str) -> DirectName:
    """The name of a queue here as others write it; parsing it takes longer than sending."""
    return DirectName.from_wire(f"{Protocol.OS}:{computer}\\{queue}")


@lru_cache(maxsize=4096)
def _format_name(text: str) -> FormatName:
    return parse_format_name(text)


@lru_cache(maxsize=256)
def _headers(text: str) -> OptionalHeaders:
    """All destinations of a message, which each copy carries ([MS-MQDMPR] 3.1.7.1.27)."""
    name = parse_format_name(text)
    assert isinstance(name, MultipleName), "several queues have a name of several elements"
    return OptionalHeaders(multi_queue=MultiQueueFormatHeader.to(name.elements))
