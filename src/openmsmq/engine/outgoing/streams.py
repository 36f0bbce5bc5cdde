"""How the transactional messages of an outgoing queue stand (OutgoingTransferInfo).

[MS-MQDMPR] 3.1.1.4 has these figures for management; what is not known yet is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.info import unprocessed
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE, OutgoingSequence, SequenceId
from openmsmq.engine.outgoing.transport import ResendStatus
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Owed, flags_of
from openmsmq.engine.storage.runs import stored_back, stored_between
from openmsmq.types.lookup import ARRIVAL_BITS

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_END: Final = LOOKUP_BASE + (1 << ARRIVAL_BITS)


class StreamPlace(NamedTuple):
    """A message of a sequence (SEQUENCE_INFO, [MS-MQMQ] 2.2.5.1)."""

    sequence: int = 0
    "TxSequenceID: time stamp and ordinal as one number."
    number: int = 0
    previous: int = 0
    "The number of the message before it."


NOWHERE: Final = StreamPlace()


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The figures of one outgoing queue ([MS-MQDMPR] 3.1.1.4)."""

    last_ack: StreamPlace
    last_ack_time: int
    last_ack_count: int
    first_unacknowledged: StreamPlace
    last_unacknowledged: StreamPlace
    next: StreamPlace
    "The next message to be sent; if there is none yet, the least number that it can have."
    unread: int
    "Reached their queue, and are not known to be received."
    unacknowledged: int
    "Sent, and not known to have reached their queue."
    resend_time: int
    "Seconds since 1970 UTC."
    resend_interval: int
    sends: int
    "How often the newest message without an acknowledgement was sent (MG-31)."


def stream_status(local: QueueManager, queue: ManagedQueue) -> StreamStatus:
    """The figures of an outgoing queue now, whatever transport sends its messages.

    ([MC-MQSRM] 3.1.5.1.8.2, 3.1.6.2, 3.1.7.2.3)
    """
    last = queue.sequences.last_ack
    acked = NOWHERE if last is None else StreamPlace(_id(last.sequence), last.number, last.previous)
    sent = local.dispatcher.transactional_in_transit(queue)
    places = [_place(local, queue, lookup, acked) for lookup in sent[:1] + sent[-1:]]
    first, newest = (places[0], places[-1]) if places else (NOWHERE, NOWHERE)
    transport = local.transports.get(queue)
    is_waiting = transport is not None and bool(sent)
    again = transport.resend_status(queue) if transport and is_waiting else ResendStatus()
    resends = transport.route(queue).resends if transport and is_waiting else 0
    return StreamStatus(
        last_ack=acked,
        last_ack_time=0 if last is None else last.time,
        last_ack_count=0 if last is None else last.count,
        first_unacknowledged=first,
        last_unacknowledged=newest,
        next=_next(local, queue, sent, newest if places else acked),
        unread=unprocessed(queue),
        unacknowledged=len(sent),
        resend_time=0 if again.due is None else int(local.timeline.wall + again.due),
        resend_interval=int(again.interval),
        sends=resends + 1 if sent else 0,
    )


def _next(
    local: QueueManager, queue: ManagedQueue, sent: list[int], last: StreamPlace
) -> StreamPlace:
    """The first transactional message that was not sent."""
    taken = set(sent)
    first = sent[-1] + 1 if sent else LOOKUP_BASE
    for lookup, raw, _ in stored_between(local.snapshot, queue.number, first, _END):
        if flags_of(raw) & _TRANSACTIONAL and lookup not in taken:
            return _place(local, queue, lookup, last)
    if last is NOWHERE:
        return NOWHERE
    return StreamPlace(last.sequence, last.number + 1, last.number)


def _place(local: QueueManager, queue: ManagedQueue, lookup: int, last: StreamPlace) -> StreamPlace:
    """The place of a message; the one before it is still here, or was acknowledged."""
    sequence = queue.sequences.of(lookup)
    if sequence is None:
        return NOWHERE
    number, identifier = sequence.number(lookup), _id(sequence.id)
    before = last.number if last.sequence == identifier and last.number < number else 0
    found = _before(local, queue, sequence, lookup)
    return StreamPlace(identifier, number, max(before, found))


def _before(
    local: QueueManager, queue: ManagedQueue, sequence: OutgoingSequence, lookup: int
) -> int:
    for before, raw, _ in stored_back(local.snapshot, queue.number, lookup):
        if before < sequence.lookup(1):
            break
        if flags_of(raw) & _TRANSACTIONAL:
            return sequence.number(before)
    return 0


def _id(sequence: SequenceId) -> int:
    """TxSequenceID as a number ([MS-MQMQ] 2.2.18.1.2)."""
    time_stamp, ordinal = sequence
    return time_stamp << 32 | ordinal
