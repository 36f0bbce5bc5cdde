"""Messages as packets: what programs send becomes what the store keeps and sessions transmit.

Most calls send messages that are alike but for their bodies (`pack_run`): what they share is
written once, and if their bodies have the same size, all of it with one join. Whatever is not plain
is left to `pack_many`, which also finds out what is wrong with a message.
"""

from __future__ import annotations

from codecs import utf_16_le_encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from operator import attrgetter
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from openmsmq import limits
from openmsmq.limits import BUILDERS_MAX, U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName, PublicName, parse_format_name
from openmsmq.names.path import THIS_COMPUTER, PathName
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.columns import SIZE
from openmsmq.packet.encrypted import asking_for_privacy
from openmsmq.packet.headers.properties import NO_CORRELATION, MessagePropertiesStart
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.signed import with_listed_signature
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import INFINITE, Acknowledge, EncryptionAlgorithm, PrivacyLevel
from openmsmq.types.message import Message
from openmsmq.wire.text import ZEROS

IN_TRANSACTION: Final = OptionalHeaders(transaction=TransactionHeader())
"Room for the place in a sequence, which is known only when the transaction commits."
COUNT_MIN: Final = 4
"Messages from which on it pays."

_way: Final = attrgetter(
    *("recoverable", "journal", "dead_letter_queue", "acknowledge"),
    *("time_to_reach_queue", "trace", "encrypt", "signer"),
    *("dead_letter", "time_to_be_received", "priority", "admin_queue", "response_queue"),
)
_PLAIN: Final = (True, False, None, Acknowledge.NONE, None, False, False, None)
"What a plain message has of the first of these."
_is_usual: Final = attrgetter("_is_usual")
_label: Final = attrgetter("label")
_head: Final = attrgetter("label", "correlation_id", "body_type", "app_specific", "extension")
_body: Final = attrgetter("body")
_Head: TypeAlias = tuple[str, bytes, bytes]
"The label, what is between its length and that of the body, and the extension."
_middle: Final = Struct("<H20sII")
"MessageClass, CorrelationID, BodyType and ApplicationTag."
_USUAL: Final = _middle.pack(0, NO_CORRELATION, 0, 0)
_PLAIN_BODY: Final = bytes(12)
"PrivacyLevel and the two algorithms of a body that is not encrypted."


class PackedRun(NamedTuple):
    """Packets one after the other, without identifiers and time."""

    packets: bytes
    sizes: list[int]
    priority: int
    time_to_be_received: int = INFINITE
    dead_letter: bool = False


class Packer:
    """Writes the messages of one queue manager ([MS-MQDMPR] 3.1.7.1.30, 3.1.7.1.32)."""

    __slots__ = ("_builder", "_computer", "_last")

    def __init__(self, source: UUID, *, computer: str = THIS_COMPUTER) -> None:
        """`computer` is what others know this one by: it replaces the `.` in names of queues."""
        self._computer = computer
        self._last: tuple[FormatName | None, str] = None, ""
        "Where messages went last, and its text."
        self._builder = lru_cache(maxsize=BUILDERS_MAX)(partial(_make_builder, source, computer))

    def pack(
        self,
        message: Message,
        destination: FormatName,
        *,
        message_id: int,
        sent_time: int,
        destination_manager: UUID = NO_GUID,
        transactional: bool = False,
    ) -> bytes:
        """The packet of one message; see `pack_many`."""
        return self.pack_many(
            (message,),
            destination,
            first_id=message_id,
            sent_time=sent_time,
            destination_manager=destination_manager,
            transactional=transactional,
        )[0]

    def pack_many(
        self,
        messages: Iterable[Message],
        destination: FormatName,
        *,
        first_id: int,
        sent_time: int,
        destination_manager: UUID = NO_GUID,
        transactional: bool = False,
        time_to_reach_queue: int | None = None,
        headers: OptionalHeaders = NO_HEADERS,
        signed_list: bytes = b"",
    ) -> list[bytes]:
        """The packets of messages sent at one moment, their ids counting up from `first_id`.

        `sent_time` is in seconds since 1970 UTC. `destination_manager` is needed for a public
        queue only: other names say where the queue is. A transactional message is recoverable and
        has priority 0. What the manager keeps behind a packet follows it (`split_stored`).
        `time_to_reach_queue` is for messages that do not say. `signed_list` is the list of several
        destinations, where another manager adds it. `MessageTooLarge` for a message that does not
        fit into a packet.
        """
        last = self._last
        if last[0] is not destination:
            last = self._last = destination, str(destination)
        queue = last[1]
        default = INFINITE if time_to_reach_queue is None else time_to_reach_queue
        if transactional:
            headers = IN_TRANSACTION if headers is NO_HEADERS else _in_transaction(headers)
        packets: list[bytes] = []
        add = packets.append
        admin: FormatName | None = None
        response: FormatName | None = None
        build = self._builder(queue, destination_manager, "", "").build
        for number, message in enumerate(messages, first_id):
            # Messages to one place mostly share their queues for replies, or have none.
            reports, answers = message.admin_queue, message.response_queue
            if reports is not admin or answers is not response:
                admin, response = reports, answers
                names = (str(name or "") for name in (admin, response))
                build = self._builder(queue, destination_manager, *names).build
            signer = message.signer
            reach_by = message.time_to_reach_queue
            receive_by = message.time_to_be_received
            packet = build(
                message.body,
                message.label,
                message.priority,
                message.recoverable,
                message.journal,
                message.dead_letter,
                message.trace,
                number & U32_MAX,
                sent_time,
                default if reach_by is None else reach_by,
                INFINITE if receive_by is None else receive_by,
                message.acknowledge,
                0,
                message.correlation_id or NO_CORRELATION,
                message.body_type,
                message.app_specific,
                message.extension,
                headers if signer is None else _signed(headers, signer),
            )
            if signer is not None:
                packet = signer.sign(packet, signed_list)
                if headers.multi_queue is not None:
                    packet = with_listed_signature(packet)
            if message.encrypt:
                packet = asking_for_privacy(packet, PrivacyLevel.AES, EncryptionAlgorithm.AES_256)
            letters = message.dead_letter_queue
            add(packet if letters is None else packet + _letters(str(letters), self._computer))
        return packets

    def pack_run(self, messages: Sequence[Message], destination: FormatName) -> PackedRun | None:
        """Many plain messages outside transactions in one piece, to be numbered when they are sent.

        None if they are few, not plain, or if one of them does not fit into a packet.
        """
        is_usual = are_usual(messages)
        if not (is_usual or are_plain(messages)):
            return None
        first = messages[0]
        names = (str(name or "") for name in (first.admin_queue, first.response_queue))
        builder = self._builder(str(destination), NO_GUID, *names)
        try:
            heads = _usual_heads([*map(_label, messages)]) if is_usual else _heads(messages)
            return _pack_run(builder, messages, heads)
        except (StructError, ValueError):
            return None


@lru_cache(maxsize=BUILDERS_MAX)
def _signed(headers: OptionalHeaders, signer: MessageSigner) -> OptionalHeaders:
    """The same with room for a signature."""
    return replace(headers, security=signer.header, hash_algorithm=signer.algorithm)


def _in_transaction(headers: OptionalHeaders) -> OptionalHeaders:
    return replace(headers, transaction=IN_TRANSACTION.transaction)


def _make_builder(
    source: UUID, computer: str, destination: str, manager: UUID, admin: str, response: str
) -> PacketBuilder:
    """A builder for queues given as text: equal names may be spelled differently."""
    queue, admin_queue, response_queue = (
        _at_home(parse_format_name(name), computer) if name else None
        for name in (destination, admin, response)
    )
    match queue:
        case PrivateName():
            manager = queue.guid
        case PublicName():
            pass
        case _:
            manager = NO_GUID
    return PacketBuilder(
        source, queue, destination_manager=manager, admin=admin_queue, response=response_queue
    )


@lru_cache(maxsize=BUILDERS_MAX)
def _letters(queue: str, computer: str) -> bytes:
    """What names the dead-letter queue of a message, behind its packet ([MS-MQRR] 2.2.5.4)."""
    name = _at_home(parse_format_name(queue), computer)
    assert isinstance(name, DirectName), "a dead-letter queue has a path"
    return letter_trailer(str(PathName.from_direct(name)))


def _at_home(name: FormatName, computer: str) -> FormatName:
    """`name` as it must be written for other computers, to which `.` would be themselves."""
    if isinstance(name, DirectName) and name.address == THIS_COMPUTER:
        return replace(name, address=computer)
    return name


def are_usual(messages: Sequence[Message]) -> bool:
    """Whether messages are many, and of each only body and label are set."""
    count = len(messages)
    return (
        count >= COUNT_MIN
        and [*map(type, messages)].count(Message) == count
        and [*map(_is_usual, messages)].count(True) == count
    )


def _usual_heads(labels: list[str]) -> list[_Head]:
    """What `_heads` finds in messages of which nothing else is set."""
    if labels.count(labels[0]) == len(labels):
        return [(labels[0], _USUAL, b"")] * len(labels)
    return [(label, _USUAL, b"") for label in labels]


def _heads(messages: Sequence[Message]) -> list[_Head]:
    """What packets say of messages before their bodies."""
    pack = _middle.pack
    return [
        (label, pack(0, correlation or NO_CORRELATION, body_type, number), extension)
        for label, correlation, body_type, number, extension in map(_head, messages)
    ]


def are_plain(messages: Sequence[Message]) -> bool:
    """Whether messages are many, go the same way, and ask for nothing special."""
    count = len(messages)
    if count < COUNT_MIN or [*map(type, messages)].count(Message) != count:
        return False
    way = _way(messages[0])
    return way[: len(_PLAIN)] == _PLAIN and [*map(_way, messages)].count(way) == count


def _pack_run(builder: PacketBuilder, messages: Sequence[Message], heads: list[_Head]) -> PackedRun:
    """Plain messages as packets; `StructError` or `ValueError` if one does not fit into a packet.

    `heads` are what packets say of them before their bodies.
    """
    priority, dead_letter = messages[0].priority, messages[0].dead_letter
    lifetime = messages[0].time_to_be_received
    receive = INFINITE if lifetime is None else lifetime
    way = priority, receive, dead_letter
    front = builder.build(priority=priority, dead_letter=dead_letter, time_to_be_received=receive)
    base, front = front[:SIZE], front[SIZE + 4 : -MessagePropertiesStart.SIZE]
    bodies = [*map(_body, messages)]
    first, count = len(bodies[0]), len(bodies)
    if heads.count(heads[0]) == count and [*map(len, bodies)].count(first) == count:
        parts, sizes = _packed(base, front, heads[:1], bodies[:1])
        *head, _, pad = parts
        start = b"".join(head)
        bodies[0], bodies[-1] = start + bodies[0], bodies[-1] + pad
        return PackedRun((pad + start).join(bodies), sizes * count, *way)
    parts, sizes = _packed(base, front, heads, bodies)
    return PackedRun(b"".join(parts), sizes, *way)


def _packed(
    base: bytes, front: bytes, heads: Iterable[_Head], bodies: Iterable[bytes]
) -> tuple[list[bytes], list[int]]:
    """The parts of packets, four for each, and their sizes."""
    front += bytes(1)  # the flags of the MessagePropertiesHeader
    pack, encode = _layout(len(front)), utf_16_le_encode
    fixed = len(base) + 4 + len(front) - 1 + MessagePropertiesStart.SIZE
    parts: list[bytes] = []
    sizes: list[int] = []
    add = sizes.append
    for (label, middle, extension), body in zip(heads, bodies, strict=True):
        text = encode(label + "\0", "surrogatepass")[0] if label else b""
        length, more, taken = len(body), len(extension), len(text)
        if more:
            text += extension
        least = fixed + taken + more + length
        size = least + 3 & ~3
        start = pack(base, size, front, taken >> 1, middle, length, length, _PLAIN_BODY, more)
        parts += start, text, body, ZEROS[size - least]
        add(size)
    if max(sizes) > limits.PACKET_SIZE_MAX:
        raise ValueError(max(sizes))
    return parts, sizes


@lru_cache(maxsize=256)
def _layout(front_size: int) -> Callable[..., bytes]:
    """What writes all that is before the label, given the bytes between size and its length."""
    middle, privacy = _middle.size, len(_PLAIN_BODY)
    return Struct(f"<{SIZE}sI{front_size}sB{middle}sII{privacy}sI").pack
