"""Payloads about messages: sending, reading, ending reads, subscribing.

`Send` and `Messages` carry the bulk, so they are written by joining and read by slicing; what is
wrong with one is found out only when something is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from itertools import repeat, starmap
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple, NoReturn, Self, TypeAlias

from openmsmq.app_protocol.limits import BATCH_SIZE_MAX
from openmsmq.errors import Malformed
from openmsmq.packet.walk import LABEL, NAMES
from openmsmq.properties.message import INFINITE
from openmsmq.types.read import Seek
from openmsmq.wire.fixed import U8, U32, U64, Fixed, fixed
from openmsmq.wire.reader import Reader, decode_whole

_COUNT: Final = Struct("<I")
SEND_HEAD: Final = Struct("<IQI")
"Handle, transaction and count, which SEND and SEND_RUN begin with."
_QUEUED: Final = Struct("<QIIIHI")
END_HEAD: Final = Struct("<IQBI")
"Handle, transaction, action and count, which END and END_RANGES begin with."
_POST: Final = Struct("<IQQQI")
_POSTED: Final = Struct("<QB")
_U16: Final = Struct("<H")
_LOOKUP_SIZE: Final = 8

_Fields: TypeAlias = tuple[tuple[str, int], ...]
_SEND_FIELDS: Final = (("handle", 4), ("transaction", 8))
"What stands before the count, with sizes; the next, before the size of each packet."
_QUEUED_FIELDS: Final = (
    ("lookup identifier", 8),
    ("arrived", 4),
    ("abort count", 4),
    ("move count", 4),
    ("class", 2),
)
PACKET_SIZE_MIN: Final = NAMES + LABEL
"A packet without names, label and body."
_SEND_ITEM_MIN: Final = _COUNT.size + PACKET_SIZE_MIN
_QUEUED_ITEM_MIN: Final = _QUEUED.size + PACKET_SIZE_MIN


PEEK: Final = 0
TAKE: Final = 1
"What a read does with the messages it finds."
HEAD: Final = 0
"The first messages of the queue, or the one that a cursor is on."
FOLLOWING: Final = 6
"The one behind that of a cursor."
SEEK_CODES: Final[Mapping[Seek, int]] = {
    Seek.CURRENT: 1,
    Seek.NEXT: 2,
    Seek.PREVIOUS: 3,
    Seek.FIRST: 4,
    Seek.LAST: 5,
    Seek.BEHIND: 7,
    Seek.AHEAD: 8,
}
"Those that a lookup identifier leads to."
_SEEKS: Final = {code: seek for seek, code in SEEK_CODES.items()}
_SEEK_MAX: Final = max(_SEEKS)


class Action(IntEnum):
    """What becomes of messages that were read."""

    RETURN = 0
    REMOVE = 1


class _Payload(Fixed):
    """A payload of fixed size."""

    __slots__ = ()

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return self.pack()

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; `Malformed` if it has another size, or codes there are not."""
        if len(payload) != cls.SIZE:
            decode_whole(payload, lambda reader: reader.fixed(cls))
        found = cls.unpack(payload)
        found._check()
        return found

    def _check(self) -> None:
        """Refuse codes that there are not."""


@fixed
class Sent(_Payload):
    """SENT: the messages are on disk, or in memory if they are express."""

    first_id: U64
    count: U32


@fixed
class ReadRequest(_Payload):
    """READ: receive or peek."""

    handle: U32
    transaction: U64 = 0
    cursor: U32 = 0
    lookup: U64 = 0
    count: U32 = 1
    timeout: U32 = INFINITE
    "Milliseconds; INFINITE waits as long as it takes."
    mode: U8 = TAKE
    seek: U8 = HEAD

    @property
    def take(self) -> bool:
        """Take the messages; else only look at them."""
        return self.mode == TAKE

    @property
    def sought(self) -> Seek | None:
        """Which message `lookup` leads to; None if it is not asked for by that."""
        return _SEEKS.get(self.seek)

    @property
    def following(self) -> bool:
        """With a cursor: go on to the next message first."""
        return self.seek == FOLLOWING

    def _check(self) -> None:
        if self.mode > TAKE:
            raise Malformed("Mode", self.offset_of("Mode"), f"is {self.mode}, not 0 or 1")
        if self.seek > _SEEK_MAX:
            raise Malformed("Seek", self.offset_of("Seek"), f"is {self.seek}, over {_SEEK_MAX}")


@fixed
class Subscribe(_Payload):
    """SUBSCRIBE: push messages without being asked, `credit` of them at first."""

    handle: U32
    credit: U32


@fixed
class Credit(_Payload):
    """CREDIT: this many more messages may come."""

    subscription: U32
    more: U32


@fixed
class Fetch(_Payload):
    """FETCH: messages that a subscription with a name was given, behind `after` up to `last`."""

    reader: U32
    after: U64
    last: U64


@fixed
class Cancel(_Payload):
    """CANCEL: give up a request that waits."""

    request: U32


def read_end_head(reader: Reader) -> tuple[int, int, int, int]:
    """Handle, transaction, action and count, which END and END_RANGES begin with."""
    handle, transaction = reader.u32("handle"), reader.u64("transaction")
    action = reader.u8("action")
    if action > Action.REMOVE:
        reader.fail("action", f"is {action}, not 0 or 1", offset=reader.offset - 1)
    return handle, transaction, action, reader.u32("count")


@dataclass(frozen=True, slots=True)
class End:
    """END: what becomes of messages that were read."""

    handle: int
    transaction: int
    action: int
    lookups: tuple[int, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        lookups = self.lookups
        start = END_HEAD.pack(self.handle, self.transaction, self.action, len(lookups))
        return start + Struct(f"<{len(lookups)}Q").pack(*lookups)

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        handle, transaction, action, count = read_end_head(reader)
        lookups = reader.take(_LOOKUP_SIZE * count, "lookups")
        return cls(handle, transaction, action, Struct(f"<{count}Q").unpack(lookups))


class Send(NamedTuple):
    """SEND: messages for a queue."""

    handle: int
    transaction: int
    "0: none."
    packets: tuple[bytes, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return b"".join(self.parts())

    def parts(self) -> list[bytes]:
        """The same in parts, for `encode_frame`."""
        packets = self.packets
        parts = [SEND_HEAD.pack(self.handle, self.transaction, len(packets))]
        add, size = parts.append, _COUNT.pack
        for packet in packets:
            add(size(len(packet)))
            add(packet)
        return parts

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its packets are not looked into."""
        try:
            handle, transaction, count = SEND_HEAD.unpack_from(payload)
            if count <= len(payload) // _SEND_ITEM_MIN:
                packets: list[bytes] = []
                add, size = packets.append, _COUNT.unpack_from
                end = SEND_HEAD.size
                for _ in range(count):
                    start = end + 4
                    end = start + size(payload, end)[0]
                    add(payload[start:end])
                if end == len(payload):
                    return cls(handle, transaction, tuple(packets))
        except StructError:
            pass
        _explain(payload, _SEND_FIELDS, ())


@dataclass(frozen=True, slots=True)
class Post:
    """POST: messages with deduplication ids or delayed delivery."""

    handle: int
    transaction: int
    "0: none."
    at: int
    "Not readable before this time: milliseconds since 1970 UTC; 0 for no delay."
    after: int
    "Not readable for this many milliseconds from now."
    packets: tuple[bytes, ...]
    dedup_ids: tuple[str, ...]
    "The deduplication id of each message; empty if they have none."

    def parts(self) -> list[bytes]:
        """The bytes of the payload in parts, for `encode_frame`."""
        count = len(self.packets)
        parts = [_POST.pack(self.handle, self.transaction, self.at, self.after, count)]
        for packet, dedup_id in zip(self.packets, self.dedup_ids or repeat("", count), strict=True):
            name = dedup_id.encode()
            parts += _U16.pack(len(name)), name, _COUNT.pack(len(packet)), packet
        return parts

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return b"".join(self.parts())

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its packets are not looked into."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        handle, transaction = reader.u32("handle"), reader.u64("transaction")
        at, after = reader.u64("at"), reader.u64("after")
        count = reader.u32("count")
        if count > reader.remaining // _SEND_ITEM_MIN:
            reader.fail("count", f"{count} messages do not fit", offset=reader.offset - 4)
        packets: list[bytes] = []
        names: list[str] = []
        for index in range(count):
            with reader.section(f"messages[{index}]"):
                raw = reader.take(reader.u16("id size"), "id")
                try:
                    names.append(raw.decode())
                except UnicodeDecodeError:
                    reader.fail("id", "is not UTF-8", offset=reader.offset - len(raw))
                packets.append(reader.take(reader.u32("size"), "packet"))
        dedup_ids = tuple(names)
        if not any(dedup_ids):
            dedup_ids = ()
        elif not all(dedup_ids):
            reader.fail("id", "some messages have one, some do not", offset=_POST.size)
        return cls(handle, transaction, at, after, tuple(packets), dedup_ids)


class PostedMessage(NamedTuple):
    """A message that was sent."""

    number: int
    duplicate: bool
    "Whether a message with the same deduplication id was sent before."


@dataclass(frozen=True, slots=True)
class Posted:
    """POSTED: the messages are on disk, without duplicates."""

    messages: tuple[PostedMessage, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return _COUNT.pack(len(self.messages)) + b"".join(starmap(_POSTED.pack, self.messages))

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        raw = reader.take(_POSTED.size * reader.u32("count"), "messages")
        found = list(_POSTED.iter_unpack(raw))
        for place, (_, duplicate) in enumerate(found, 1):
            if duplicate > 1:
                at = _COUNT.size + place * _POSTED.size - 1
                reader.fail("duplicate", f"is {duplicate}, not 0 or 1", offset=at)
        return cls(tuple(PostedMessage(number, bool(duplicate)) for number, duplicate in found))


class QueuedMessage(NamedTuple):
    """A message as it is in a queue."""

    lookup_id: int
    arrived: int
    "Seconds since 1970 UTC."
    abort_count: int
    move_count: int
    message_class: int
    "Why it is a dead letter, else 0."
    packet: bytes


count_of: Final = _COUNT.pack
"What MESSAGES and DELIVERY begin with."
queued_start: Final = _QUEUED.pack
"What stands before each packet there: all fields of a `QueuedMessage` but the packet, its size."


def room_for(count: int) -> int:
    """Bytes that the packets of `count` messages may have, for the payload not to be too large."""
    return BATCH_SIZE_MAX - _COUNT.size - count * _QUEUED.size


COUNT_MAX: Final = BATCH_SIZE_MAX // _QUEUED_ITEM_MIN
"Messages that fit into one frame: this many packets that are as small as can be."


@dataclass(frozen=True, slots=True)
class Messages:
    """MESSAGES and DELIVERY: messages that were read."""

    messages: tuple[QueuedMessage, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return b"".join(self.parts())

    def parts(self) -> list[bytes]:
        """The same in parts, for `encode_frame`."""
        parts = [count_of(len(self.messages))]
        for *fields, packet in self.messages:
            parts += queued_start(*fields, len(packet)), packet
        return parts

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its packets are not looked into."""
        with suppress(StructError):
            count: int = _COUNT.unpack_from(payload)[0]
            if count <= len(payload) // _QUEUED_ITEM_MIN:
                found: list[QueuedMessage] = []
                add, new, unpack = found.append, tuple.__new__, _QUEUED.unpack_from
                end = _COUNT.size
                for _ in range(count):
                    lookup, arrived, aborts, moves, reason, size = unpack(payload, end)
                    start = end + 26
                    end = start + size
                    fields = (lookup, arrived, aborts, moves, reason, payload[start:end])
                    add(new(QueuedMessage, fields))  # saves 0.2 µs
                if end == len(payload):
                    return cls(tuple(found))
        _explain(payload, (), _QUEUED_FIELDS)


def _explain(payload: bytes, start: _Fields, item: _Fields) -> NoReturn:
    """Refuse a list of packets for the first thing that is wrong with it."""
    reader = Reader(payload)
    for name, size in start:
        reader.need(size, name)
    place = reader.offset
    count = reader.u32("count")
    least = sum(size for _, size in item) + _COUNT.size + PACKET_SIZE_MIN
    if count > len(payload) // least:
        reader.fail("count", f"{count} messages do not fit", offset=place)
    for index in range(count):
        with reader.section(f"messages[{index}]"):
            for name, size in item:
                reader.need(size, name)
            reader.need(reader.u32("size"), "packet")
    reader.fail("end", f"{reader.remaining} bytes too many")
