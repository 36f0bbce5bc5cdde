"""Incoming sequences: which transactional messages of other managers have come, in order.

(IncomingTxSequenceID and its number, [MS-MQQB] 3.1.1.3.1, per sender and destination as it is
addressed, AMB-20.) What is decided for a commit counts for the rest of it, and for good only when
it is on disk.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.model.storage import Snapshot, Table, Writer
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.names.parts import fold
from openmsmq.packet.acks import order_queue, order_queue_at
from openmsmq.packet.transaction import TransactionHeaderStart
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import DIRECT, FLAGS, NAMES, after_names, u16, u32
from openmsmq.wire.text import decode_utf16

INCOMING: Final = b"I"
"What the keys of these rows begin with."
SOURCE: Final = slice(16, 32)
"SourceQueueManager of a packet."
ADDRESSEE: Final = slice(32, 48)
"QueueManagerAddress."
_row = Struct("<QIIIH")
_KEY_SIZE: Final = 25
_PUBLIC: Final = 5
COUNT_MAX: Final = 100_000
"Sequences that are remembered; beyond that those are forgotten that nothing came of for longest."


class IncomingSequence(NamedTuple):
    """How far the messages of one sender to one destination have come."""

    id: int
    "TxSequenceID as a number."
    number: int
    "TxSequenceNumber of the last message that was accepted, or refused for good."
    time: int
    "When that was, in seconds since 1970 UTC."
    rejects: int
    "Messages out of order since then."
    address: str
    "Where the messages come from."
    name: str
    "The destination as the sender writes it."

    def pack(self) -> bytes:
        """The bytes to store."""
        address = self.address.encode()
        start = _row.pack(self.id, self.number, self.time, self.rejects, len(address))
        return start + address + self.name.encode("utf-8", "surrogatepass")

    @classmethod
    def unpack(cls, raw: bytes) -> IncomingSequence:
        """The reverse of `pack`."""
        identifier, number, time, rejects, size = _row.unpack_from(raw)
        end = _row.size + size
        address, name = raw[_row.size : end].decode(), raw[end:].decode("utf-8", "surrogatepass")
        return cls(identifier, number, time, rejects, address, name)

    def takes(self, identifier: int, number: int, previous: int) -> bool:
        """Whether a message is the next one ([MS-MQQB] 3.1.5.8.6)."""
        if identifier == self.id:
            return number > self.number and previous <= self.number
        return identifier > self.id and previous == 0


class Incoming:
    """All incoming sequences of a manager."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._committed = {
            split_sequence_key(key): IncomingSequence.unpack(row)
            for key, row in snapshot.scan(Table.TRANSFER, INCOMING, INCOMING + b"\xff" * 24)
        }
        self._staged: dict[bytes, IncomingSequence] = {}
        "As the commit that is being written leaves them."
        self._forgotten: list[bytes] = []
        "What it forgets."

    def items(self) -> list[tuple[UUID, IncomingSequence]]:
        """All of them, with their senders."""
        return [(UUID(bytes_le=key[:16]), item) for key, item in self._committed.items()]

    def get(self, key: bytes) -> IncomingSequence | None:
        """How far a sequence has come, with what this commit adds."""
        return self._staged.get(key) or self._committed.get(key)

    def committed_one(self, key: bytes) -> IncomingSequence | None:
        """How far a sequence has come on disk, which is all that its sender may hear."""
        return self._committed.get(key)

    def order_queue(self, packet: bytes, address: str = "") -> PrivateName | DirectName:
        """Where the sender of a message wants to be told of it ([MS-MQQB] 2.2.4, AMB-33).

        `address` is where it came from just now; else it is where the last of its sequence did.
        """
        if packet[FLAGS + 1] >> 2 & 7 == DIRECT:
            sequence = self.get(sequence_key(packet))
            address = address or ("" if sequence is None else sequence.address)
            if address:
                return order_queue_at(address)
        return order_queue(UUID(bytes_le=packet[SOURCE]))

    def stage(self, key: bytes, sequence: IncomingSequence) -> None:
        """A message has consumed its number, if this commit succeeds ([MS-MQQB] 3.1.5.8.8)."""
        self._staged[key] = sequence

    def write(self, writer: Writer, keys: set[bytes]) -> None:
        """Write down how far these have come."""
        for key in keys:
            writer.put(Table.TRANSFER, INCOMING + key, self._staged[key].pack())

    def committed(self, keys: set[bytes]) -> None:
        """That is on disk."""
        for key in keys & self._staged.keys():
            self._committed[key] = self._staged.pop(key)
        for key in self._forgotten:
            self._committed.pop(key, None)
        self._forgotten = []

    def surplus(self) -> list[bytes]:
        """What is to be forgotten, so that nobody can fill the memory."""
        excess = len(self._committed) - COUNT_MAX
        if excess <= 0 or self._forgotten:
            return []
        idle = [key for key in self._committed if key not in self._staged]
        by_age = sorted(idle, key=lambda key: self._committed[key].time)
        return by_age[: excess + COUNT_MAX // 100]

    def forget(self, writer: Writer, keys: list[bytes]) -> None:
        """Forget sequences; should something come of one, it begins anew."""
        for key in keys:
            writer.delete(Table.TRANSFER, INCOMING + key)
        self._forgotten = keys

    def failed(self) -> None:
        """The commit failed, all of it."""
        self._staged.clear()
        self._forgotten = []


def transaction_of(packet: bytes) -> tuple[int, int, int, int]:
    """Flags, TxSequenceID as a number, TxSequenceNumber and the previous one of a message."""
    offset = after_names(packet, u32(packet, FLAGS)[0])
    flags, ordinal, time_stamp, number, previous = _transaction(packet, offset)
    return flags, time_stamp << 32 | ordinal, number, previous


_transaction: Final = Struct("<IIIII").unpack_from
assert TransactionHeaderStart.SIZE == 20


def destination_key(packet: bytes) -> bytes:
    """Eight bytes that tell destinations apart, by the name that the sender gives."""
    code = packet[FLAGS + 1] >> 2 & 7
    if code == DIRECT:
        size = u16(packet, NAMES)[0]
        return _digest_name(packet[NAMES + 2 : NAMES + 2 + size])
    return _digest(packet[ADDRESSEE] + packet[NAMES : NAMES + (16 if code == _PUBLIC else 4)])


class Head(NamedTuple):
    """What the front of a packet says, read once."""

    base_flags: int
    time_to_reach_queue: int
    source: bytes
    "SourceQueueManager."
    addressee: bytes
    "QueueManagerAddress."
    time_to_be_received: int
    sent_time: int
    number: bytes
    "MessageID."
    flags: int
    "UserHeader.Flags."
    destination: bytes
    "See `destination_key`."

    @property
    def message_key(self) -> bytes:
        """By what a message that comes twice is known (AMB-39)."""
        return self.source + self.number + self.destination

    @property
    def sequence_key(self) -> bytes:
        """By what the sequence of a message is known (AMB-20)."""
        return self.source + self.destination


_front: Final = Struct("<2xH8xI16s16sII4sI").unpack_from


def head_of(packet: bytes) -> Head:
    """What the front of a packet says ([MS-MQMQ] 2.2.19.1, 2.2.19.2)."""
    return Head._make((*_front(packet), destination_key(packet)))


def sequence_key(packet: bytes) -> bytes:
    """By what the sequence of a message is known (AMB-20)."""
    return packet[SOURCE] + destination_key(packet)


def split_sequence_key(key: bytes) -> bytes:
    """The key of a sequence, from that of its row."""
    if len(key) != _KEY_SIZE:
        raise ValueError(f"a key of {len(key)} bytes")
    return key[1:]


def destination_text(packet: bytes) -> str:
    """The destination as the sender writes it, for people."""
    view = PacketView(packet)
    return str(view.destination or view.user.destination)


@lru_cache(maxsize=4096)
def _digest_name(name: bytes) -> bytes:
    return _digest(fold(decode_utf16(name)).encode("utf-16-le", "surrogatepass"))


@lru_cache(maxsize=4096)
def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()
