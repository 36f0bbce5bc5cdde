"""Incoming sequences: which transactional messages of other managers have come, in order.

(IncomingTxSequenceID and its number, [MS-MQQB] 3.1.1.3.1, per sender and destination as it is
addressed, AMB-20.) What is decided for a commit counts for the rest of it, and for good only when
it is on disk. What a session brings in the name of a source that it may not speak for has state of
its own (`Origin.scope`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from openmsmq.engine.arrivals.limits import (
    DESTINATION_TEXT_MAX,
    SOURCE_SEQUENCES_MAX,
    STRANGER_SEQUENCES_MAX,
    STREAM_SCOPES_MAX,
)
from openmsmq.engine.arrivals.peers import network_of
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.errors import MQError
from openmsmq.names.parts import fold
from openmsmq.packet.headers.transaction import TransactionHeaderStart
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import DIRECT, FLAGS, NAMES, after_names, u16, u32
from openmsmq.wire.text import decode_utf16

K = TypeVar("K")
INCOMING: Final = b"I"
"What the keys of these rows begin with."
SOURCE: Final = slice(16, 32)
"SourceQueueManager of a packet."
ADDRESSEE: Final = slice(32, 48)
"QueueManagerAddress."
RESTORED_KEY: Final = b"restored"
"META row: when the store was restored from a backup the last time, in seconds since 1970 UTC."
_row = Struct("<QIIIHBI16s")
_old_row = Struct("<QIIIH")
_KEY_SIZE: Final = 25
_PUBLIC: Final = 5
NO_DESTINATION: Final = bytes(8)
"In the key of a row that says nothing but where a source is."


class IncomingSequence(NamedTuple):
    """How far the messages of one sender to one destination have come ([MS-MQQB] 3.1.1.3.1)."""

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
    source: bytes = NO_GUID.bytes_le
    "SourceQueueManager."
    may_skip: bool = False
    "The store was restored since: some messages may have come that it does not know of."
    missing: int = 0
    "How many numbers were passed over for that reason."
    receipts_to: str = ""
    "The address that the sender named for receipts, if its protocol has that."

    def pack(self) -> bytes:
        """The bytes to store."""
        address = self.address.encode()
        start = _row.pack(
            self.id,
            self.number,
            self.time,
            self.rejects,
            len(address),
            self.may_skip,
            self.missing,
            self.source,
        )
        text = f"{self.name}\0{self.receipts_to}" if self.receipts_to else self.name
        return start + address + text.encode("utf-8", "surrogatepass")

    @classmethod
    def unpack(cls, raw: bytes) -> IncomingSequence:
        """The reverse of `pack`."""
        identifier, number, time, rejects, size, may_skip, missing, source = _row.unpack_from(raw)
        end = _row.size + size
        address, text = raw[_row.size : end].decode(), raw[end:].decode("utf-8", "surrogatepass")
        name, _, receipts_to = text.partition("\0")
        return cls(
            identifier,
            number,
            time,
            rejects,
            address,
            name,
            source,
            bool(may_skip),
            missing,
            receipts_to,
        )

    def gap_before(self, identifier: int, number: int, previous: int) -> int | None:
        """How many numbers are missing before a message; 0 if it is the next, None if it is not.

        ([MS-MQQB] 3.1.5.8.6.) None may be missing, but for once after a restore.
        """
        if identifier < self.id or (identifier == self.id and number <= self.number):
            return None
        missing = max(0, previous - (self.number if identifier == self.id else 0))
        return missing if not missing or self.may_skip else None

    @property
    def place(self) -> tuple[int, int]:
        """How far it has come."""
        return self.id, self.number


def read_incoming_4(key: bytes, raw: bytes) -> IncomingSequence:
    """A row as format 4 had it."""
    identifier, number, time, rejects, size = _old_row.unpack_from(raw)
    end = _old_row.size + size
    address, name = raw[_old_row.size : end].decode(), raw[end:].decode("utf-8", "surrogatepass")
    return IncomingSequence(identifier, number, time, rejects, address, name, key[1:17])


class IncomingSequences:
    """All incoming sequences of a manager."""

    def __init__(
        self, snapshot: Snapshot, is_known: Callable[[bytes], bool] = lambda source: False
    ) -> None:
        """`is_known` tells whether a source is in the peer table."""
        self._is_known = is_known
        self._committed: dict[bytes, IncomingSequence] = {}
        self._by_scope: dict[bytes, dict[bytes, None]] = {}
        "Keys by source, or what stands for it; the one that came last is the last."
        self._strangers: dict[str, dict[bytes, None]] = {}
        "Keys of sources outside the peer table, by the network they come from, in the same order."
        self._stranger_count = 0
        self._by_stream: dict[tuple[bytes, bytes, int], dict[bytes, None]] = {}
        "Keys by source, destination and TxSequenceID, for all peers."
        self._staged: dict[bytes, IncomingSequence] = {}
        "As the commit that is being written leaves them."
        self._forgotten: list[bytes] = []
        "What it forgets."
        rows = snapshot.scan(Table.TRANSFER, INCOMING, INCOMING + b"\xff" * 24)
        found = [(split_sequence_key(key), IncomingSequence.unpack(row)) for key, row in rows]
        for key, sequence in sorted(found, key=lambda item: item[1].time):
            self._put(key, sequence)
        self.unknown = IncomingSequence(
            0, 0, 0, 0, "", "", may_skip=snapshot.get(Table.META, RESTORED_KEY) is not None
        )
        "What is known of a sequence that nothing has come of."

    def __len__(self) -> int:
        return len(self._committed)

    def items(self) -> list[IncomingSequence]:
        """All of them."""
        return list(self._committed.values())

    def note_place(self, scope: bytes, source: bytes, address: str, now: int) -> bytes | None:
        """Remember where a source is that wants to hear of messages outside transactions.

        A row without destination and number says so, within the bounds of all others; its key is
        for `write`. None if that is known.
        """
        key = scope + NO_DESTINATION
        known = self.get(key)
        if known is not None and known.address == address:
            return None
        self.stage(key, IncomingSequence(0, 0, now, 0, address, "", source))
        return key

    def addresses(self, source: UUID) -> list[str]:
        """Where sessions of a manager have brought its messages from, the last first."""
        keys = reversed(self._by_scope.get(source.bytes_le, {}))
        found = (self._committed[key].address for key in keys)
        return list(dict.fromkeys(address for address in found if address))

    def get(self, key: bytes) -> IncomingSequence | None:
        """How far a sequence has come, with what this commit adds."""
        return self._staged.get(key) or self._committed.get(key)

    def furthest(self, keys: Iterable[bytes]) -> IncomingSequence | None:
        """Which of several states of one sequence has come furthest."""
        found = [sequence for key in keys if (sequence := self.get(key)) is not None]
        return max(found, key=lambda sequence: sequence.place, default=None)

    def continues(
        self, source: bytes, destination: bytes, identifier: int, number: int, previous: int
    ) -> bool:
        """Whether a message is the next of a stream that has come under another scope so far.

        Its sender had another address, or came by another manager. What was brought so can make a
        message acceptable, never unacceptable: it may have been forged.
        """
        keys = reversed(self._by_stream.get((source, destination, identifier), {}))
        found = (self._committed[key] for key in islice(keys, STREAM_SCOPES_MAX))
        return any(item.gap_before(identifier, number, previous) == 0 for item in found)

    def recognize(self, source: bytes) -> None:
        """A source has come into the peer table, or is gone from it: other bounds hold for it."""
        for key in list(self._by_scope.get(source, ())):
            self._put(key, self._committed[key])

    def receipted_since(self, time: int) -> list[bytes]:
        """The keys of sequences with an address for receipts that have come further since."""
        known = self._committed.items()
        return [key for key, item in known if item.receipts_to and item.time >= time]

    def on_disk(self, key: bytes) -> IncomingSequence | None:
        """How far a sequence has come, as far as that is committed."""
        return self._committed.get(key)

    def last_of(self, packet: bytes, scopes: Iterable[bytes]) -> IncomingSequence | None:
        """How far the sequence of a message has come on disk: all that its sender may hear."""
        destination = destination_key(packet)
        found = [self._committed.get(scope + destination) for scope in scopes]
        known = [sequence for sequence in found if sequence is not None]
        return max(known, key=lambda sequence: sequence.place, default=None)

    def address_of(self, packet: bytes) -> str:
        """Where the last message of the same sequence came from; empty if none did."""
        sequence = self.get(sequence_key(packet))
        return "" if sequence is None else sequence.address

    def receipts_to(self, source: bytes, packet: bytes) -> str:
        """The address that a sender named for receipts of the stream of a message, or nothing.

        Of streams with the same identifier under several scopes the one that came last counts.
        """
        stream = source, destination_key(packet), transaction_of(packet)[1]
        keys = reversed(self._by_stream.get(stream, {}))
        found = (self._committed[key].receipts_to for key in islice(keys, STREAM_SCOPES_MAX))
        return next(filter(None, found), "")

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
            self._put(key, self._staged.pop(key))
        for key in self._forgotten:
            self._drop(key)
        self._forgotten = []

    def _put(self, key: bytes, sequence: IncomingSequence) -> None:
        self._drop(key)
        self._committed[key] = sequence
        self._by_scope.setdefault(key[:16], {})[key] = None
        self._by_stream.setdefault(_stream(key, sequence), {})[key] = None
        if key[:16] != sequence.source or not self._is_known(sequence.source):
            self._strangers.setdefault(network_of(sequence.address), {})[key] = None
            self._stranger_count += 1

    def _drop(self, key: bytes) -> None:
        before = self._committed.pop(key, None)
        if before is None:
            return
        network = network_of(before.address)
        if key in self._strangers.get(network, ()):
            self._stranger_count -= 1
        _take_out(self._by_scope, key[:16], key)
        _take_out(self._by_stream, _stream(key, before), key)
        _take_out(self._strangers, network, key)

    def surplus(self) -> list[bytes]:
        """What is to be forgotten, so that no sender can fill the memory.

        A source loses its own oldest; of all strangers together those lose theirs that have the
        most, by the network they come from. Known peers never make room for strangers.
        """
        if self._forgotten:
            return []
        found = []
        for key in self._staged:
            keys = self._by_scope.get(key[:16], {})
            if len(keys) > SOURCE_SEQUENCES_MAX:
                found.append(next(iter(keys)))
        excess = self._stranger_count - STRANGER_SEQUENCES_MAX
        if excess > 0:
            most = max(self._strangers.values(), key=len)
            found += [
                key
                for key, _ in zip(most, range(excess + STRANGER_SEQUENCES_MAX // 100), strict=False)
            ]
        return [key for key in dict.fromkeys(found) if key not in self._staged]

    def forget(self, writer: Writer, keys: list[bytes]) -> None:
        """Forget sequences; should something come of one, it begins anew."""
        for key in keys:
            writer.delete(Table.TRANSFER, INCOMING + key)
        self._forgotten = keys

    def failed(self) -> None:
        """The commit failed, all of it."""
        self._staged.clear()
        self._forgotten = []


def _stream(key: bytes, sequence: IncomingSequence) -> tuple[bytes, bytes, int]:
    return sequence.source, key[16:], sequence.id


def _take_out(table: dict[K, dict[bytes, None]], place: K, key: bytes) -> None:
    """Take a key out of a table of keys by place, and the place with its last one."""
    keys = table.get(place)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del table[place]


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

    def message_key(self, scope: bytes) -> bytes:
        """By what a message that comes twice is known (AMB-39); `scope` is `Origin.scope`."""
        return scope + self.number + self.destination

    def transit_key(self, scope: bytes) -> bytes:
        """The same for one that is passed on: it may come again by another way (RT-14)."""
        return scope + self.number + self.transit_destination

    @property
    def transit_destination(self) -> bytes:
        """The destination and the hop count, by which a message is known on its way (RT-14)."""
        return _digest(self.destination + (self.flags & UserFlags.RC).to_bytes(1, "big"))

    def sequence_key(self, scope: bytes) -> bytes:
        """By what the sequence of a message is known (AMB-20)."""
        return scope + self.destination


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
    try:
        name = str(view.destination or view.user.destination)
    except MQError:  # what is no name is shown as it is written
        name = view.user.destination.text.rstrip("\0")
    return name[:DESTINATION_TEXT_MAX]


@lru_cache(maxsize=4096)
def _digest_name(name: bytes) -> bytes:
    return _digest(fold(decode_utf16(name)).encode("utf-16-le", "surrogatepass"))


@lru_cache(maxsize=4096)
def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()
