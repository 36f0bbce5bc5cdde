"""Rows of the store: how keys sort and what a message's record holds.

A lookup identifier is (7 - priority) in its high byte and the arrival number below
([MS-MQDMPR] 3.1.7.1.9), so that identifiers rise along the queue and the index sorts as the queue
does. The packet lies apart, in chunks, and never moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from itertools import repeat
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, PRIORITY_MAX, Acknowledge
from openmsmq.types.lookup import ARRIVAL_BITS

NEVER: Final = INFINITE
"When a message expires that lives for ever."
CHUNK_SIZE: Final = 4000
"Larger values would leave LMDB's pages half empty and fragment its file."
START_SIZE: Final = 60
"Bytes of a packet that hold its identifier."

_index = Struct(">IQ")
_expiry = Struct(">IIQ")
_due_key = Struct(">QIQ")
_due = Struct("<Q")
_packet = Struct(">QH")
_queue = Struct(">IB")
_counters = Struct("<QQ")
_totals = Struct("<6Q")
_record = Struct("<QIIIIIIHH")

index_key: Final = _index.pack
"Queue number and lookup identifier."
split_index_key: Final = _index.unpack
_lookups = Struct(">4xQ")
expiry_key: Final = _expiry.pack
"When the message expires, queue number, lookup identifier."
split_expiry_key: Final = _expiry.unpack
RUN_BIT: Final = 1 << 63
"Set in the lookup identifier of such a key if it is about a run: that of its first message."
due_key: Final = _due_key.pack
"When a delayed message is due, number of the queue it waits in, lookup identifier."
split_due_key: Final = _due_key.unpack
packet_key: Final = _packet.pack
"Packet number and chunk."
split_packet_key: Final = _packet.unpack
pack_record: Final = _record.pack
RECORD_SIZE: Final = _record.size
"Of a record that says nothing of readers."
packet_place: Final = Struct("<QI").unpack_from
"Packet number and size, the first fields of a record."

place_and_expiry: Final = Struct("<QI4xI").unpack_from
"The same and when it expires."
_EXPIRES: Final = 16
"Where a record says so."
local_facts: Final = Struct("<12xI4xII4xH").unpack_from
"When it arrived, how often it was aborted and moved, its class, without the rest of the record."
_flags_of: Final = Struct("<34xH").unpack_from
_FLAGS: Final = slice(34, 36)

PROPERTIES_ROW: Final = 0
COUNTERS_ROW: Final = 1
DELETED_ROW: Final = 2
"Marks a queue that is deleted but whose messages are not all removed yet."
PURGED_ROW: Final = 3
"Messages that were purged while a reader held them, by lookup identifier."
SUBSCRIPTION_ROW: Final = 4
"How far a subscription has come."
READ_ROW: Final = 5
"What the owner of a subscription has read and is not done with."
JOURNAL_BIT: Final = 1 << 31
"The journal of a queue has the number of the queue with this bit set."
DELAYED_BIT: Final = 1 << 30
"So has the place where messages of a queue wait that cannot be read yet."


class Owed(IntFlag):
    """What is to be done when a message leaves its queue; kept in its record."""

    NOTHING = 0
    DEAD_LETTER = 1
    "It goes to a dead-letter queue if it fails."
    JOURNAL = 2
    "A copy goes to the sender's journal when it was delivered."
    ACK_RECEIVE = 4
    NACK_RECEIVE = 8
    NACK_ARRIVAL = 16
    ACK_ARRIVAL = 32
    TRANSACTIONAL = 64
    "It was sent in a transaction."
    FINAL_ACK = 128
    "Its sender, another manager, is owed a final receipt ([MS-MQQB] 3.1.1.6.2)."
    STRANGER = 256
    "A peer outside the peer table brought it: what it makes us send is bounded (`answering`)."
    OWN_LETTERS = 512
    "It names a dead-letter queue of its own, behind its packet."
    SRMP = 1024
    "It came over HTTP, and so do its receipts."
    PRIVATE = 2048
    "Its body leaves this manager encrypted, or not at all ([MS-MQQB] 3.1.7.1.5)."


TRANSPORT: Final = Owed.SRMP.value
"Flags that name the transport which brought a message; none for [MS-MQQB]."


class Total(IntEnum):
    """What a queue counts since it was made, in the order in which it is stored."""

    ARRIVED = 0
    "Messages that were put into it: sent, moved or copied."
    RECEIVED = 1
    "Taken by a reader; of an outgoing queue, handed over to another manager."
    EXPIRED = 2
    REJECTED = 3
    "Not accepted by it, or put out of it as a dead letter because it was poison."
    MOVED = 4
    "Moved out of it, as poison too."
    ABORTED = 5
    "Times that a message came back because the transaction that had received it was aborted."


NO_TOTALS: Final = (0,) * len(Total)


class Record(NamedTuple):
    """What is known of a message beside its packet."""

    packet_number: int
    size: int
    "Of the packet, in bytes."
    arrived_time: int
    "Seconds since 1970 UTC."
    expires: int
    "When it may be received no longer; 0xFFFFFFFF for never."
    abort_count: int = 0
    "Transactions that received it and were aborted."
    move_count: int = 0
    last_move_time: int = 0
    message_class: int = 0
    "The reason it is a dead letter; 0 for none."
    flags: int = 0
    "See `Owed`."
    readers: bytes = b""
    "Which subscriptions have a copy of it."

    @classmethod
    def unpack(cls, raw: bytes) -> Record:
        """The record stored as `raw`."""
        return cls._make((*_record.unpack_from(raw), raw[RECORD_SIZE:]))

    @classmethod
    def unpack_delayed(cls, raw: bytes) -> tuple[Record, int]:
        """The record of a message that cannot be read yet, and when it is due (`pack_delayed`)."""
        return cls.unpack(raw[: -_due.size]), due_of(raw)

    def moved(self, now: int) -> Record:
        """The record of the same message in another subqueue.

        AbortCounter counts failures without a success between ([MS-MQRR] 2.2.5.3): to be moved is
        one, and a message that is moved back is to be tried again.
        """
        return self._replace(abort_count=0, move_count=self.move_count + 1, last_move_time=now)

    def pack(self) -> bytes:
        """The bytes to store."""
        return _record.pack(*self[:-1]) + self.readers

    def pack_delayed(self, due: int) -> bytes:
        """The same for a message that cannot be read before `due`."""
        return self.pack() + _due.pack(due)


def due_of(raw: bytes) -> int:
    """When a delayed message can be read: milliseconds since 1970 as lifetimes count them."""
    due: int = _due.unpack_from(raw, len(raw) - _due.size)[0]
    return due


def with_packet(raw: bytes, number: int) -> bytes:
    """The record of a message whose packet is stored under that number."""
    return number.to_bytes(8, "little") + raw[8:]


def with_expiry(raw: bytes, expires: int) -> bytes:
    """The record of a message that expires then."""
    if place_and_expiry(raw)[2] == expires:
        return raw
    return raw[:_EXPIRES] + expires.to_bytes(4, "little") + raw[_EXPIRES + 4 :]


def split_lookups(keys: Iterable[bytes]) -> list[int]:
    """The lookup identifiers of many keys of the index."""
    return [lookup for (lookup,) in _lookups.iter_unpack(b"".join(keys))]


def lookup_id(priority: int, arrival: int) -> int:
    """The lookup identifier of the message that arrived as number `arrival`.

    (LookupIdentifier, [MS-MQDMPR] 3.1.1.12.)
    """
    return PRIORITY_MAX - priority << ARRIVAL_BITS | arrival


def owed(packet: bytes) -> int:
    """What is to be done when the message with this packet leaves its queue, as a number."""
    view = PacketView(packet)
    return owed_for(view.flags, view.acknowledge)


def owed_for(flags: int, acknowledge: int) -> int:
    """The same, given UserHeader.Flags and the acknowledgements asked for."""
    found = _OWED_ACKS[acknowledge & 0x0F]
    if flags & _OWING:
        found |= (
            (_DEAD_LETTER if flags & UserFlags.JN else 0)
            | (_JOURNAL if flags & UserFlags.JP else 0)
            | (_TRANSACTIONAL if flags & UserFlags.TH else 0)
        )
    return found


# Plain numbers, since to combine flags with a number makes an object each time.
_DEAD_LETTER: Final = Owed.DEAD_LETTER.value
_JOURNAL: Final = Owed.JOURNAL.value
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_OWING: Final = UserFlags.JN | UserFlags.JP | UserFlags.TH
_OWED_ACKS: Final = tuple(
    (Owed.ACK_ARRIVAL.value if acknowledge & Acknowledge.POS_ARRIVAL else 0)
    | (Owed.ACK_RECEIVE.value if acknowledge & Acknowledge.POS_RECEIVE else 0)
    | (Owed.NACK_RECEIVE.value if acknowledge & Acknowledge.NEG_RECEIVE else 0)
    | (Owed.NACK_ARRIVAL.value if acknowledge & Acknowledge.NEG_ARRIVAL else 0)
    for acknowledge in range(16)
)


def flags_of(record: bytes) -> int:
    """What is owed for the message with this record."""
    flags: int = _flags_of(record)[0]
    return flags


def any_flags(records: Iterable[bytes]) -> int:
    """What is owed for at least one of the messages with these records."""
    found = 0
    for flags in different_flags(records):
        found |= flags
    return found


def different_flags(records: Iterable[bytes]) -> list[int]:
    """The flags that messages with these records have, each once."""
    found = {record[_FLAGS] for record in records}
    return [int.from_bytes(flags, "little") for flags in found]


def queue_key(number: int, row: int = PROPERTIES_ROW) -> bytes:
    """The key of a row about a queue."""
    return _queue.pack(number, row)


def pack_counters(messages: int, size: int, totals: Sequence[int] = NO_TOTALS) -> bytes:
    """How many messages a queue holds, their bytes, and what happened to all there were."""
    return _counters.pack(messages, size) + _totals.pack(*totals)


def unpack_counters(raw: bytes) -> tuple[int, int]:
    """How many messages a queue holds, and their bytes."""
    messages, size = _counters.unpack_from(raw)
    return messages, size


def unpack_totals(raw: bytes) -> tuple[int, ...]:
    """How many messages each `Total` counts; `struct.error` if the row has another size."""
    return _totals.unpack(raw[_counters.size :])


def chunks(packet: bytes) -> list[bytes]:
    """A packet in the pieces it is stored in."""
    if len(packet) <= CHUNK_SIZE:
        return [packet]
    return [packet[start : start + CHUNK_SIZE] for start in range(0, len(packet), CHUNK_SIZE)]


def packet_keys(number: int, size: int) -> list[bytes]:
    """The keys of the chunks of a packet."""
    count = max(1, -(-size // CHUNK_SIZE))
    return list(map(packet_key, repeat(number), range(count)))
