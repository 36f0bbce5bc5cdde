"""What a queue manager shows, beside what its model says; and whether its store is in order."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELAYED_BIT,
    JOURNAL_BIT,
    NEVER,
    Record,
    due_key,
    due_of,
    expiry_key,
    index_key,
    packet_keys,
    packet_place,
    split_index_key,
    unpack_counters,
)
from openmsmq.engine.storage.runs import MessageRun
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.engine.transactions.staged import read_sent
from openmsmq.engine.transactions.transaction import SENT, _key
from openmsmq.names.direct import DirectName
from openmsmq.packet.admin import build_admin_ack
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.queues import Poison
from tests.strategies.model.parts import Answer, Position, Rules

COMPUTER: Final = "here"
END: Final = b"\xff" * 21
_IDENTITY: Final = UUID(int=1)


class Shown(NamedTuple):
    """What can be seen of a message."""

    lookup: int
    body: bytes
    "How it starts; the rest is nothing."
    length: int
    number: int
    "Of its identifier; of an acknowledgement that of the message it is about."
    message_class: int
    arrived: int
    expires: int
    aborts: int
    moves: int


def shown(entries: list[Entry]) -> list[Shown]:
    """What the manager found."""
    found = []
    for lookup, raw, packet, _ in entries:
        record = Record.unpack(raw)
        body, length, number, own_class = _facts(packet)
        found.append(
            Shown(
                lookup,
                body,
                length,
                number,
                record.message_class or own_class,
                record.arrived_time,
                record.expires,
                record.abort_count,
                record.move_count,
            )
        )
    return found


@lru_cache(maxsize=4096)
def _facts(packet: bytes) -> tuple[bytes, int, int, int]:
    view = PacketView(packet)
    about = _number(view.correlation_id if view.message_class else view.identifier)
    return view.body.rstrip(b"\0"), len(view.body), about, view.message_class


def _number(identifier: bytes) -> int:
    assert identifier[:16] == _IDENTITY.bytes_le
    return int.from_bytes(identifier[16:], "little")


@lru_cache(maxsize=4096)
def own_number(packet: bytes) -> int:
    """The number of a message's identifier, which nothing else has."""
    return _number(PacketView(packet).identifier)


def expected(positions: list[Position]) -> list[Shown]:
    """The same of the model's messages."""
    return [
        Shown(
            p.lookup,
            p.body.rstrip(b"\0"),
            len(p.body),
            p.number,
            p.message_class,
            p.arrived,
            p.expires,
            p.aborts,
            p.moves,
        )
        for p in positions
    ]


def real_rules(rules: Rules) -> dict[str, Any]:
    """What becomes of aborted messages, as properties of a queue."""
    return {
        "abort_limit": rules.abort_limit,
        "retry_delay": rules.retry_delay,
        "poison": Poison.DEAD_LETTER if rules.poison_is_dead else Poison.SUBQUEUE,
    }


def agree(what: str, found: object, wanted: object) -> None:
    """The manager must show what the model says."""
    assert found == wanted, f"{what}: {found}, not {wanted}"


def compare(pending: Future[Any], answer: Answer) -> None:
    """One call must be answered as the model says, and not before."""
    assert pending.done == answer.done, (pending.error, answer.errors, answer.value)
    if not answer.done:
        return
    if answer.errors:
        assert isinstance(pending.error, answer.errors), (pending.error, answer.errors)
        return
    value = pending.result()
    if isinstance(answer.value, list):
        agree("answer", shown(value), expected(answer.value))
    elif answer.value is not None:
        agree("answer", value, answer.value)


# Sizes


def queue_name(number: int) -> DirectName:
    return DirectName.from_wire(f"OS:{COMPUTER}\\private$\\q{number}")


@cache
def _packet(length: int, *, transactional: bool, admin: bool) -> bytes:
    message = Message(
        bytes(length),
        acknowledge=Acknowledge.FULL_RECEIVE if admin else 0,
        admin_queue=str(queue_name(0)) if admin else None,
    )
    return Packer(_IDENTITY, computer=COMPUTER).pack(
        message, queue_name(0), message_id=1, sent_time=0, transactional=transactional
    )


def packet_size(length: int, *, transactional: bool, admin: bool) -> int:
    """The bytes of a message with a body of this length."""
    return len(_packet(length, transactional=transactional, admin=admin))


@cache
def _ack_size(length: int, *, transactional: bool) -> int:
    ack = build_admin_ack(
        PacketView(_packet(length, transactional=transactional, admin=True)),
        queue_name(0),
        MessageClass.NACK_RECEIVE_TIMEOUT if length else MessageClass.ACK_RECEIVE,
        source=_IDENTITY,
        message_id=1,
        sent_time=0,
    )
    return len(ack)


def ack_size(position: Position, length: int) -> int:
    """The bytes of an acknowledgement with a body of this length."""
    return _ack_size(length, transactional=position.queue.transactional)


# The store


def _check_runs(
    snapshot: Snapshot,
    packets: Counter[bytes],
    sizes: dict[int, list[int]],
    expiring: set[bytes],
) -> None:
    """Each run has its blob, and none of its messages has a row of its own."""
    for key, raw in snapshot.scan(Table.RUNS, b"", END):
        run = MessageRun.unpack(key, raw)
        if run.expiry_key is not None:
            expiring.add(run.expiry_key)
        packets.update(run.packet_keys)
        blob = snapshot.get_many(Table.PACKETS, run.packet_keys)
        assert sum(map(len, blob)) == run.record.size
        members = list(run.members(0))
        assert len(members) == run.left
        for lookup, _, _ in members:
            assert snapshot.get(Table.INDEX, index_key(run.queue, lookup)) is None
        sizes.setdefault(run.queue, []).extend(packet_place(member)[1] for _, member, _ in members)


def check_tables(snapshot: Snapshot) -> None:
    """Every row is needed by another one, and the counters count the rows."""
    packets: Counter[bytes] = Counter()
    expiring: set[bytes] = set()
    delayed: set[bytes] = set()
    sizes: dict[int, list[int]] = {}
    for key, raw in snapshot.scan(Table.INDEX, b"", END):
        queue, lookup = split_index_key(key)
        record = Record.unpack(raw)
        keys = packet_keys(record.packet_number, record.size)
        packets.update(keys)
        assert sum(map(len, snapshot.get_many(Table.PACKETS, keys))) == record.size
        if record.expires != NEVER:
            expiring.add(expiry_key(record.expires, queue, lookup))
        if queue & DELAYED_BIT and not queue & JOURNAL_BIT:
            delayed.add(due_key(due_of(raw), queue, lookup))
        sizes.setdefault(queue, []).append(record.size)
    _check_runs(snapshot, packets, sizes, expiring)
    for key, raw in snapshot.scan(Table.TRANSACTIONS, b"", END):
        if _key.unpack(key)[1] == SENT:
            sent = read_sent(raw)
            packets.update(packet_keys(sent.number, sent.size))
    agree("packets", Counter(keys_of(snapshot, Table.PACKETS)), packets)
    agree("lifetimes", set(keys_of(snapshot, Table.EXPIRY)), expiring)
    agree("delays", set(keys_of(snapshot, Table.DELAYED)), delayed)
    counters = {}
    for key, raw in snapshot.scan(Table.QUEUES, b"", END):
        if key[-1] == COUNTERS_ROW:
            counters[int.from_bytes(key[:-1], "big")] = unpack_counters(raw)
    for queue in sizes.keys() | counters.keys():
        found = sizes.get(queue, [])
        agree(f"counters of {queue}", counters[queue], (len(found), sum(found)))


def keys_of(snapshot: Snapshot, table: Table) -> list[bytes]:
    return [key for key, _ in snapshot.scan(table, b"", END)]
