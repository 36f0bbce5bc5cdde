"""Rows about transfers between managers."""

from __future__ import annotations

from collections.abc import Callable
from struct import error as StructError
from uuid import UUID

import pytest

from openmsmq.engine.arrivals.duplicates import KEY_SIZE, SEEN
from openmsmq.engine.arrivals.incoming import INCOMING, IncomingSequence
from openmsmq.engine.arrivals.peers import PEER, KnownPeer
from openmsmq.engine.messages.dedup import DEDUP, GROUP
from openmsmq.engine.outgoing.parked import PARKED
from openmsmq.engine.outgoing.sequence_numbers import DESTINATION, write_destination
from openmsmq.engine.outgoing.sequences import OUTGOING, OutgoingSequence
from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.packet.acks import FinalAckBody
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.store.check.queues import CheckedQueue, CheckedQueues
from openmsmq.store.check.transfers import CheckedTransfers
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind

PLAIN, AWAY = 16, 17
NAME = r"DIRECT=OS:there\private$\q"
STAMP = 1_600_000_000


@pytest.fixture
def transfers() -> CheckedTransfers:
    """For a plain queue and an outgoing one."""
    queues = CheckedQueues()
    for number, kind in ((PLAIN, QueueKind.PRIVATE), (AWAY, QueueKind.OUTGOING)):
        queues.take(number, 0, QueueProperties(NAME, UUID(int=1), 0, 0, kind=kind).to_row())
    return CheckedTransfers(queues)


def outgoing(ordinal: int, queue: int, first: int) -> tuple[bytes, bytes]:
    """The row of a sequence."""
    return row_of(lambda writer: OutgoingSequence(STAMP, ordinal, queue, first).write(writer))


def used(ordinal: int, time_stamp: int = STAMP) -> tuple[bytes, bytes]:
    """The row of the destination, and what it used last."""
    return row_of(lambda writer: write_destination(writer, NAME, time_stamp, ordinal))


def row_of(write: Callable[[Writer], None]) -> tuple[bytes, bytes]:
    """The one row that is written."""
    store = MemoryStore()
    write(store.begin())
    store.commit()
    (found,) = store.committed.tables[Table.TRANSFER].items()
    return found


def test_sequences_of_outgoing_queues_are_in_order(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(1, AWAY, 5))
    transfers.take(*outgoing(2, AWAY, 9))
    transfers.take(*used(2))
    assert list(transfers.faults()) == []


@pytest.mark.parametrize("queue", [PLAIN, 99], ids=["plain", "unknown"])
def test_others_are_not(transfers: CheckedTransfers, queue: int) -> None:
    transfers.take(*outgoing(3, queue, 5))
    assert list(transfers.faults()) == [
        f"Sequence 3 is of queue number {queue}, from which nothing is sent."
    ]


def test_the_series_of_a_sequence_from_a_backup_is_at_an_end(transfers: CheckedTransfers) -> None:
    sequence = OutgoingSequence(STAMP, 3, AWAY, 5, is_restored=True)
    transfers.take(*row_of(sequence.write))
    assert list(transfers.faults()) == []


def test_a_number_that_would_be_given_out_again_is_found(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(3, AWAY, 5))
    fault = ["The number of sequence 3 would be given out again."]
    assert list(transfers.faults()) == fault
    transfers.take(*used(2))
    assert list(transfers.faults()) == fault
    transfers.take(*used(99, STAMP - 1))
    assert list(transfers.faults()) == fault
    transfers.take(*used(1, STAMP + 1))
    assert list(transfers.faults()) == []


def test_messages_have_a_sequence_from_the_first_of_it_on(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(1, AWAY, 5))
    transfers.take(*outgoing(2, AWAY, 9))
    queue = CheckedQueue(AWAY)
    assert [transfers.has_sequence(queue, at) for at in (4, 5, 9)] == [False, True, True]
    assert not transfers.has_sequence(CheckedQueue(PLAIN), 9)


def test_other_rows_need_only_be_readable(transfers: CheckedTransfers) -> None:
    transfers.take(INCOMING + bytes(24), IncomingSequence(1, 2, 3, 4, "a", "b").pack())
    transfers.take(SEEN + bytes(8), bytes(6 + 2 * KEY_SIZE))
    transfers.take(PEER + bytes(16), KnownPeer(UUID(int=0), ("A",), "192.0.2.9", 1801).to_row())
    ack = FinalAckBody(TxSequenceID(1, STAMP), 1, 0, UUID(int=1), 1)
    transfers.take(PARKED + bytes(28), bytes(2) + ack.pack())
    assert list(transfers.faults()) == []


def test_every_kind_of_row_has_a_mark_of_its_own() -> None:
    kinds = [OUTGOING, DESTINATION, INCOMING, SEEN, PEER, PARKED, DEDUP, GROUP]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (b"", b""),
        (b"X", b""),
        (OUTGOING + bytes(8), bytes(16)),
        (OUTGOING + bytes(8), bytes(18)),
        (OUTGOING + bytes(7), bytes(17)),
        (DESTINATION + bytes(15), bytes(12)),
        (DESTINATION + bytes(16), bytes(11)),
        (PEER + bytes(15), b'{"names": [], "address": "", "port": 1}'),
        (PARKED + bytes(27), bytes(40)),
        (INCOMING + bytes(23), IncomingSequence(1, 2, 3, 4, "a", "b").pack()),
        (INCOMING + bytes(24), bytes(3)),
        (INCOMING + bytes(24), IncomingSequence(1, 2, 3, 4, "", "b").pack() + b"\xff"),
        (SEEN + bytes(7), bytes(6)),
        (SEEN + bytes(8), bytes(5)),
        (SEEN + bytes(8), bytes(7)),
    ],
    ids=[
        "no key",
        "unknown",
        "short sequence",
        "half a manager",
        "short key of a sequence",
        "short key of a destination",
        "short destination",
        "short key of a peer",
        "short key of an acknowledgement",
        "short key of an incoming one",
        "short incoming one",
        "name",
        "short key of a history",
        "no time",
        "half a message",
    ],
)
def test_a_row_that_was_never_written_so_is_refused(
    transfers: CheckedTransfers, key: bytes, row: bytes
) -> None:
    with pytest.raises((ValueError, StructError)):
        transfers.take(key, row)
