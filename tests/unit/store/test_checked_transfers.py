"""Rows about transfers between managers."""

from __future__ import annotations

from struct import error as StructError
from uuid import UUID

import pytest

from openmsmq.model.duplicates import KEY_SIZE, SEEN
from openmsmq.model.incoming import INCOMING, IncomingSequence
from openmsmq.model.queue import Kind, QueueProperties
from openmsmq.model.sequences import OUTGOING
from openmsmq.store.checked_queues import CheckedQueue, CheckedQueues
from openmsmq.store.checked_transfers import CheckedTransfers

PLAIN, AWAY = 16, 17


@pytest.fixture
def transfers() -> CheckedTransfers:
    """For a plain queue and an outgoing one."""
    queues = CheckedQueues()
    for number, kind in ((PLAIN, Kind.PRIVATE), (AWAY, Kind.OUTGOING)):
        queues.take(number, 0, QueueProperties(str(kind), UUID(int=1), 0, 0, kind=kind).to_row())
    return CheckedTransfers(queues)


def outgoing(ordinal: int, queue: int, first: int) -> tuple[bytes, bytes]:
    """The row of a sequence."""
    row = queue.to_bytes(4, "little") + first.to_bytes(8, "little")
    return OUTGOING + ordinal.to_bytes(4, "big"), row


def test_sequences_of_outgoing_queues_are_in_order(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(1, AWAY, 5))
    transfers.take(*outgoing(2, AWAY, 9))
    assert list(transfers.faults(2)) == []


@pytest.mark.parametrize("queue", [PLAIN, 99], ids=["plain", "unknown"])
def test_others_are_not(transfers: CheckedTransfers, queue: int) -> None:
    transfers.take(*outgoing(3, queue, 5))
    assert list(transfers.faults(3)) == [
        f"Sequence 3 is of queue number {queue}, from which nothing is sent."
    ]


def test_a_number_that_would_be_given_out_again_is_found(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(3, AWAY, 5))
    assert list(transfers.faults(2)) == ["The number of sequence 3 would be given out again."]


def test_messages_have_a_sequence_from_the_first_of_it_on(transfers: CheckedTransfers) -> None:
    transfers.take(*outgoing(1, AWAY, 5))
    transfers.take(*outgoing(2, AWAY, 9))
    queue = CheckedQueue(AWAY)
    assert [transfers.has_sequence(queue, at) for at in (4, 5, 9)] == [False, True, True]
    assert not transfers.has_sequence(CheckedQueue(PLAIN), 9)


def test_other_rows_need_only_be_readable(transfers: CheckedTransfers) -> None:
    transfers.take(INCOMING + bytes(24), IncomingSequence(1, 2, 3, 4, "a", "b").pack())
    transfers.take(SEEN + bytes(8), bytes(4 + 2 * KEY_SIZE))
    assert list(transfers.faults(0)) == []


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (b"", b""),
        (b"X", b""),
        (OUTGOING + bytes(4), bytes(11)),
        (OUTGOING + bytes(3), bytes(12)),
        (INCOMING + bytes(23), IncomingSequence(1, 2, 3, 4, "a", "b").pack()),
        (INCOMING + bytes(24), bytes(3)),
        (INCOMING + bytes(24), IncomingSequence(1, 2, 3, 4, "", "b").pack() + b"\xff"),
        (SEEN + bytes(7), bytes(4)),
        (SEEN + bytes(8), bytes(3)),
        (SEEN + bytes(8), bytes(5)),
    ],
    ids=[
        "no key",
        "unknown",
        "short sequence",
        "short key of a sequence",
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
