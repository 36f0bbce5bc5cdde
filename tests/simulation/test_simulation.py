"""Seeds in virtual time: no message is lost, comes twice or out of order, whatever goes wrong.

(MQQB: sessions, duplicates, sequences and acknowledgements, [MS-MQQB] 3.1.5 and 3.1.6.) Mistakes
that are planted on purpose are found, so that the seeds that find nothing mean something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from multiprocessing import Pool
from typing import Any

import pytest

from openmsmq.app_protocol.frames import Frame
from openmsmq.app_server.reads import Reads
from openmsmq.app_server.session import AppSession
from openmsmq.app_server.streams import DeliveryStream, DeliveryStreams
from openmsmq.engine.arrivals.arrival import (
    ArrivalOutcome,
    ArrivalPosition,
    ArrivalWork,
    Origin,
    StreamProgress,
)
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.duplicates import Duplicates, Owner, _Pool
from openmsmq.engine.arrivals.incoming import (
    Head,
    IncomingSequence,
    IncomingSequences,
    destination_key,
)
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.messages import disposition as outcomes
from openmsmq.engine.messages.removal import Removal
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers, write_floor
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE, OutgoingSequence, Sequences
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage import recovery
from openmsmq.engine.storage.tables import Snapshot, Writer
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import MQError
from openmsmq.interfaces.remote_read.queue_context import QueueContext
from openmsmq.interfaces.remote_read.reads import RemoteReads
from openmsmq.interfaces.remote_read.server import RemoteReadServer
from openmsmq.interfaces.remote_read.stubs import ACK, EndReceive, Status32
from openmsmq.interfaces.remote_read.transactions import EnlistedTransaction, RemoteTransactions
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.rpc.interface import RpcCall
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.received_acks import ReceivedAcks
from openmsmq.transports.mqqb.session_table import SessionTable
from openmsmq.transports.mqqb.transport import BinaryTransport
from openmsmq.transports.peers.peer import Peer
from tests.simulation.__main__ import attempt, problems
from tests.simulation.dependents import DependentReader
from tests.simulation.mistakes import SEEDS_MAX, Plant, find, run
from tests.simulation.readers import Held
from tests.simulation.world import simulate

CHUNK = 25
CHUNKS = SEEDS_MAX // CHUNK
"In `make test`; `make torture` tries 10,000 seeds."
ONCE_FAILED = (336, 514, 574, 603, 721, 816, 977, 982, 1186, 2070, 3326)
"Each of a cause of its own; 982 of one that came back."
LATER_FAILED = (1506, 5240, 6780, 30030)
"With what there also was by then."
LAST_FAILED = (764, 1833, 3010)
"With all there is."
LATER = frozenset(("groups", "readers", "transfers"))


@pytest.mark.parametrize("seed", range(8))
def test_nothing_goes_wrong(seed: int) -> None:
    simulate(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nor_does_it_with_many_seeds(chunk: int) -> None:
    run(range(CHUNK * chunk, CHUNK * (chunk + 1)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_nor_with_seeds_that_once_failed(seed: int) -> None:
    simulate(seed, also=())


@pytest.mark.slow
@pytest.mark.parametrize("seed", LATER_FAILED)
def test_nor_with_those_that_failed_later(seed: int) -> None:
    simulate(seed, also=LATER)


@pytest.mark.slow
@pytest.mark.parametrize("seed", LAST_FAILED)
def test_nor_with_those_that_failed_last(seed: int) -> None:
    simulate(seed)


def test_clients_without_a_manager_receive_in_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a world with them says something about them."""
    received: list[int] = []
    made = DependentReader._got

    def got(self: DependentReader, taken: list[Held]) -> None:
        received.extend(held.uid for held in taken)
        made(self, taken)

    monkeypatch.setattr(DependentReader, "_got", got)
    simulate(1, also={"dependents"})
    assert received
    assert len(set(received)) == len(received)


def test_a_connection_that_a_reader_no_longer_waits_for_is_closed() -> None:
    """One of its two is lost while the other is being made."""
    simulate(401, also={"readers"})


@pytest.mark.slow
def test_a_transaction_of_a_reader_that_is_gone_locks_nothing() -> None:
    """Its abort fails with the disk, and is tried again."""
    simulate(771)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_nor_with_very_many(first: int) -> None:
    with Pool() as pool:
        tried = pool.imap_unordered(attempt, range(first, first + 500), 8)
        assert problems(tried) == []


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (simulate(18, trace=True).trace.lines for _ in range(2))
    assert len(first) > 100
    assert first == second


# Mistakes that must be found


def early_acknowledgements(patch: pytest.MonkeyPatch) -> None:
    """Messages are acknowledged when they come, not when they are stored."""
    take = Link._take

    def wrong(link: Link, packets: list[bytes], last: int) -> None:
        link.session.stored(last, link._host.now())
        take(link, packets, last)

    patch.setattr(Link, "_take", wrong)


def new_numbers_on_reconnect(patch: pytest.MonkeyPatch) -> None:
    """Messages that are sent again get another place in their sequence."""
    starts: Counter[int] = Counter()
    start_over = Sequences.start_over
    number = OutgoingSequence.number

    def wrong_start(sequences: Sequences) -> None:
        starts.update(sequence.ordinal for sequence in sequences.all)
        start_over(sequences)

    def wrong_number(sequence: OutgoingSequence, lookup: int) -> int:
        return number(sequence, lookup) + 1000 * starts[sequence.ordinal]

    def wrong_lookup(sequence: OutgoingSequence, place: int) -> int:
        return LOOKUP_BASE | sequence.first + place % 1000 - 1

    patch.setattr(Sequences, "start_over", wrong_start)
    patch.setattr(OutgoingSequence, "number", wrong_number)
    patch.setattr(OutgoingSequence, "lookup", wrong_lookup)


def no_history_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """What has come is not remembered beyond a crash."""
    begin = Duplicates.__init__
    patch.setattr(
        Duplicates, "__init__", lambda self, snapshot: begin(self, MemoryStore().snapshot)
    )


def no_incoming_sequences_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """How far sequences have come is not remembered beyond a crash."""
    begin = IncomingSequences.__init__

    def wrong(
        self: IncomingSequences, snapshot: Snapshot, is_known: Callable[[bytes], bool]
    ) -> None:
        begin(self, MemoryStore().snapshot, is_known)

    patch.setattr(IncomingSequences, "__init__", wrong)


def history_beside_the_commit(patch: pytest.MonkeyPatch) -> None:
    """That a message has come is not written with it."""

    def wrong(
        seen: Duplicates, writer: Writer, owner: Owner, keys: Sequence[bytes], now: int
    ) -> int:
        return 0

    patch.setattr(Duplicates, "write", wrong)


def sequences_overtake_each_other(patch: pytest.MonkeyPatch) -> None:
    """A sequence is sent before the one before it has arrived."""
    patch.setattr(Dispatcher, "_must_wait", lambda self, queue, lookup: False)


def order_before_the_disk(patch: pytest.MonkeyPatch) -> None:
    """Messages in order are acknowledged that are not on disk yet."""

    def ahead(
        incoming: IncomingSequences, packet: bytes, scopes: Iterable[bytes]
    ) -> IncomingSequence | None:
        destination = destination_key(packet)
        return incoming.furthest(scope + destination for scope in scopes)

    patch.setattr(IncomingSequences, "last_of", ahead)
    take_next, take = Arrivals._take_next, Link._take_recoverable
    links: dict[Origin, Link] = {}

    def remember(link: Link, packets: list[bytes], last: int) -> None:
        links[link.origin] = link
        take(link, packets, last)

    def wrong(
        arrivals: Arrivals, work: ArrivalWork, packet: bytes, head: Head, position: ArrivalPosition
    ) -> None:
        take_next(arrivals, work, packet, head, position)
        early = ArrivalOutcome()
        early.progress = [
            StreamProgress(key, last, 300 * count) for key, (last, count) in work.orders.items()
        ]
        link = links[work.origin]
        link._host.arrived(link, early)

    patch.setattr(Link, "_take_recoverable", remember)
    patch.setattr(Arrivals, "_take_next", wrong)


def final_acknowledgements_are_missed(patch: pytest.MonkeyPatch) -> None:
    """What this commit does to a message is not seen when a FinalAck comes with it."""

    def wrong(self: Confirmations, batch: Batch, *rest: object) -> None:
        return None

    patch.setattr(Confirmations, "find", wrong)


def refused_messages_are_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """A message for which there was no room is acknowledged all the same."""
    take = Arrivals.take

    def wrong(
        arrivals: Arrivals, origin: Origin, given: Any, done: Callable[[ArrivalOutcome], None]
    ) -> None:
        def acknowledge(outcome: ArrivalOutcome) -> None:
            outcome.error, origin.is_refused = None, False
            done(outcome)

        take(arrivals, origin, given, acknowledge)

    patch.setattr(Arrivals, "take", wrong)


def express_messages_come_twice(patch: pytest.MonkeyPatch) -> None:
    """No one remembers which express messages have come."""
    patch.setattr(Duplicates, "note", lambda self, owner, keys, now: None)


def journals_forget(patch: pytest.MonkeyPatch) -> None:
    """The last word about a message does not lead to the copy that its sender wants."""
    patch.setattr(outcomes, "place_of", lambda *_: None)


# Mistakes about peers that lie, restores and order


def order_acks_from_anyone(patch: pytest.MonkeyPatch) -> None:
    """Any session may say that messages have arrived."""
    ordered = ReceivedAcks.ordered

    def wrong(self: ReceivedAcks, origin: Origin, identifier: TxSequenceID, number: int) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ReceivedAcks, "_may_confirm", lambda *_: True)
            ordered(self, origin, identifier, number)

    patch.setattr(ReceivedAcks, "ordered", wrong)


def final_acks_from_anyone(patch: pytest.MonkeyPatch) -> None:
    """Any session may say what became of messages."""
    final = ReceivedAcks._final

    def wrong(self: ReceivedAcks, *given: Any) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ReceivedAcks, "_may_confirm", lambda *_: True)
            final(self, *given)

    patch.setattr(ReceivedAcks, "_final", wrong)


def what_was_never_sent_is_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """After a restart, an acknowledgement may name any number."""
    limit = Sequences.limit

    def wrong(self: Sequences, sequence: OutgoingSequence) -> int:
        is_current = self.is_current and sequence is self.all[-1]
        return limit(self, sequence) if is_current else U32_MAX

    patch.setattr(Sequences, "limit", wrong)


def sources_are_believed(patch: pytest.MonkeyPatch) -> None:
    """What any session brings in the name of a source counts as if the source had."""
    patch.setattr(Origin, "scopes", lambda self, source: (source,))


def gaps_are_refused_after_a_restore(patch: pytest.MonkeyPatch) -> None:
    """A receiver that was restored waits for what came since the backup."""
    gap_before = IncomingSequence.gap_before

    def wrong(self: IncomingSequence, identifier: int, number: int, previous: int) -> int | None:
        return gap_before(self._replace(may_skip=False), identifier, number, previous)

    patch.setattr(IncomingSequence, "gap_before", wrong)


def gaps_are_not_reported(patch: pytest.MonkeyPatch) -> None:
    """What is missing after a restore is passed over in silence."""
    gap_before = IncomingSequence.gap_before

    def wrong(self: IncomingSequence, identifier: int, number: int, previous: int) -> int | None:
        return None if gap_before(self, identifier, number, previous) is None else 0

    patch.setattr(IncomingSequence, "gap_before", wrong)


def series_go_on_after_a_restore(patch: pytest.MonkeyPatch) -> None:
    """A sender that was restored gives identifiers that it has given since the backup."""
    patch.setattr(SequenceNumbers, "start_over", lambda self, *how: None)


def time_stamps_follow_the_clock_after_a_restore(patch: pytest.MonkeyPatch) -> None:
    """Whatever the backup says, they are what the clock shows, though that may be behind."""
    start_over = SequenceNumbers.start_over

    def wrong(self: SequenceNumbers, writer: Writer, now: int, passed: int) -> None:
        start_over(self, writer, now, passed)
        self.floor = 0
        write_floor(writer, 0)

    patch.setattr(SequenceNumbers, "start_over", wrong)


def overtaken_sequences_wait(patch: pytest.MonkeyPatch) -> None:
    """A restored sender does not understand that its receiver is ahead of the backup."""
    patch.setattr(ReceivedAcks, "_overtaken", lambda self, origin, identifier: None)


def message_numbers_come_again_after_a_restore(patch: pytest.MonkeyPatch) -> None:
    """New messages have the numbers of others that were sent since the backup."""
    begin = recovery.start_over

    def wrong(writer: Writer, numbers: Numbers, *rest: Any) -> None:
        first = numbers.message_id, numbers.message_id_end
        begin(writer, numbers, *rest)
        numbers.message_id, numbers.message_id_end = first

    patch.setattr(recovery, "start_over", wrong)


def sessions_are_hijacked(patch: pytest.MonkeyPatch) -> None:
    """What is for a manager goes by any session that claims its identity."""
    link_of = BinaryTransport.link_of

    def wrong(self: BinaryTransport, peer: Peer[Link], queue: ManagedQueue) -> Link | None:
        for link in self.session_table.of(peer.id or NO_GUID):
            if link.is_open and not link.is_superseded:
                return link
        return link_of(self, peer, queue)

    patch.setattr(BinaryTransport, "link_of", wrong)


def clones_are_not_named(patch: pytest.MonkeyPatch) -> None:
    """A newer session replaces an older one, wherever it comes from."""
    patch.setattr(SessionTable, "_note_clones", lambda self, peer: None)


def express_messages_overtake(patch: pytest.MonkeyPatch) -> None:
    """Express messages do not wait for others of their session that are being written."""
    patch.setattr(Arrivals, "_is_behind", lambda self, origin, queue: False)


def strangers_are_not_bounded(patch: pytest.MonkeyPatch) -> None:
    """What is kept for strangers grows with what they send."""
    patch.setattr(_Pool, "surplus", lambda self: None)
    patch.setattr(IncomingSequences, "surplus", lambda self: [])


# Mistakes about programs on connections


def held_messages_stay_after_a_disconnect(patch: pytest.MonkeyPatch) -> None:
    """What a program had read is not returned to its queue when its connection is lost."""
    end = AppSession._end

    def wrong(session: AppSession) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Removal, "release", lambda self, queue, lookups: None)
            end(session)

    patch.setattr(AppSession, "_end", wrong)


def ends_are_answered_before_the_disk(patch: pytest.MonkeyPatch) -> None:
    """A program is notified that messages are removed before that is on disk."""

    def early(
        session: AppSession, number: int, make: Callable[[], Any], answer: Callable[[Any], None]
    ) -> None:
        session.driver.begin(make, lambda pending: None)
        answer(None)

    def wrong(end: Callable[[Reads, Frame], None]) -> Callable[[Reads, Frame], None]:
        def answered_early(reads: Reads, frame: Frame) -> None:
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(AppSession, "begin", early)
                end(reads, frame)

        return answered_early

    patch.setattr(Reads, "end", wrong(Reads.end))
    patch.setattr(Reads, "end_ranges", wrong(Reads.end_ranges))


def reads_do_not_time_out(patch: pytest.MonkeyPatch) -> None:
    """A read that is to wait for a while waits until there is a message."""
    patch.setattr(Reads, "next_deadline", inf)
    patch.setattr(Reads, "tick", lambda self, now: None)


def deliveries_use_no_credit(patch: pytest.MonkeyPatch) -> None:
    """A stream goes on although the program gives no more credit."""
    deliver = DeliveryStreams._deliver

    def wrong(streams: DeliveryStreams, stream: DeliveryStream) -> None:
        stream.credit = max(stream.credit, 1)
        deliver(streams, stream)

    patch.setattr(DeliveryStreams, "_deliver", wrong)


def transactions_in_use_are_idle(patch: pytest.MonkeyPatch) -> None:
    """What counts is when a transaction was begun, not when it was used."""
    find = AppSession.transaction

    def wrong(session: AppSession, number: int) -> ManagedTransaction | None:
        found = session.transactions.get(number)
        used = 0.0 if found is None else found.used
        again = find(session, number)
        if found is not None:
            found.used = used
        return again

    patch.setattr(AppSession, "transaction", wrong)


# Mistakes about remote readers


def what_readers_hold_stays_after_a_disconnect(patch: pytest.MonkeyPatch) -> None:
    """What a remote reader was given is not returned when its connections are lost."""
    close = RemoteReadServer._close

    def wrong(server: RemoteReadServer, context: QueueContext) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Removal, "release", lambda self, queue, lookups: None)
            close(server, context)

    patch.setattr(RemoteReadServer, "_close", wrong)


def ends_of_reads_are_answered_before_the_disk(patch: pytest.MonkeyPatch) -> None:
    """A remote reader is notified that a message is removed before that is on disk."""

    def wrong(server: RemoteReadServer, call: RpcCall, make: Callable[[], Any]) -> None:
        try:
            server._driver.begin(make, lambda pending: None)
        except MQError as error:
            call.respond(Status32(error.hresult))
        else:
            call.respond(Status32(0))

    patch.setattr(RemoteReadServer, "_answer_when_done", wrong)


def remote_reads_do_not_time_out(patch: pytest.MonkeyPatch) -> None:
    """A remote read that is to wait for a while waits until there is a message."""
    patch.setattr(RemoteReads, "next_deadline", None)


def returned_messages_are_removed(patch: pytest.MonkeyPatch) -> None:
    """A message that a remote reader does not want is removed all the same."""
    end = RemoteReads.end

    def wrong(reads: RemoteReads, context: QueueContext, asked: EndReceive) -> Any:
        return end(reads, context, replace(asked, acknowledge=ACK))

    patch.setattr(RemoteReads, "end", wrong)


def transactions_of_lost_readers_stay(patch: pytest.MonkeyPatch) -> None:
    """What a remote reader has received in a transaction is not returned when it is gone."""
    patch.setattr(EnlistedTransaction, "run_down", lambda self: None)
    patch.setattr(RemoteTransactions, "abort_idle", lambda self, limit: 0)


RARE: dict[Plant, str] = {
    order_acks_from_anyone: "has_hostile",
    final_acks_from_anyone: "has_hostile",
    what_was_never_sent_is_acknowledged: "has_hostile",
    sources_are_believed: "has_hostile",
    sessions_are_hijacked: "has_hostile",
    strangers_are_not_bounded: "has_hostile",
    gaps_are_refused_after_a_restore: "restores",
    gaps_are_not_reported: "restores",
    series_go_on_after_a_restore: "restores",
    time_stamps_follow_the_clock_after_a_restore: "restores",
    overtaken_sequences_wait: "restores",
    message_numbers_come_again_after_a_restore: "restores",
    clones_are_not_named: "clones",
    held_messages_stay_after_a_disconnect: "clients",
    ends_are_answered_before_the_disk: "clients",
    reads_do_not_time_out: "clients",
    deliveries_use_no_credit: "clients",
    transactions_in_use_are_idle: "clients",
    what_readers_hold_stays_after_a_disconnect: "readers",
    ends_of_reads_are_answered_before_the_disk: "readers",
    remote_reads_do_not_time_out: "readers",
    returned_messages_are_removed: "readers",
    transactions_of_lost_readers_stay: "readers",
}
"Mistakes that show only in some worlds, and in which."


MISTAKES = (
    early_acknowledgements,
    new_numbers_on_reconnect,
    no_history_after_a_restart,
    no_incoming_sequences_after_a_restart,
    history_beside_the_commit,
    sequences_overtake_each_other,
    order_before_the_disk,
    final_acknowledgements_are_missed,
    refused_messages_are_acknowledged,
    express_messages_come_twice,
    journals_forget,
    express_messages_overtake,
    *RARE,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    find(plant, monkeypatch, RARE.get(plant, ""))
