"""What must hold when the faults are over and everything had time to get where it belongs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from openmsmq.engine.outgoing.sequences import OUTGOING
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import packet_place, place_and_expiry, split_index_key
from openmsmq.engine.storage.runs import MessageRun, stored
from openmsmq.engine.storage.tables import Table
from openmsmq.properties.message import Acknowledge, MessageClass, describe_class
from openmsmq.store.check.check import check_tables
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK
from openmsmq.types.queues import VISIBLE, QueueKind
from tests.simulation.fates import FOREIGN, Fate, Fates, uids
from tests.simulation.ledger import Ledger, Letter, Sort, State
from tests.simulation.node import START, Node
from tests.simulation.programs import MISSING, PLAIN, TRANSACTIONAL

Sent = Mapping[int, Sequence[tuple[int, int]]]
"On which connections messages were sent, and their places there."
PURGED: Final = MessageClass.NACK_Q_PURGED
LEFT: Final = (Event.RECEIVED, Event.PURGED, Event.EXPIRED)
"What happens to messages that leave their queues."
TOO_LATE: Final = describe_class(MessageClass.NACK_REACH_QUEUE_TIMEOUT)


def check(nodes: list[Node], ledger: Ledger, sent: Sent, *, drained: bool) -> None:
    """Hold everything against what was sent; managers with copies are on their own."""
    by_name = {node.name: node for node in nodes}
    fates = Fates(by_name)
    for node in nodes:
        if not node.is_copied:
            check_quiet(node, ledger, by_name, fates, drained=drained)
        check_books(node)
    copied = {node.name for node in nodes if node.is_copied}
    ledger.letters = {
        uid: letter
        for uid, letter in ledger.letters.items()
        if not copied & {letter.source, letter.target}
    }
    for letter in ledger.letters.values():
        check_existence(letter)
        check_late(letter, fates, by_name)
        if letter.is_http:
            check_http(letter, fates.of(letter))
        elif letter.is_touched and letter.is_stored:
            check_touched(letter, fates.of(letter))
        elif letter.is_stored:
            check_stored(letter, fates.of(letter))
    for node in nodes:
        check_gaps(node, ledger, fates)
    for letters in ledger.transactions:
        taken = [letter for letter in letters if letter.state is not State.REFUSED]
        assert len({letter.is_out for letter in taken}) <= 1, f"half a transaction: {letters}"
    check_order(ledger, fates)
    check_receipts(ledger, by_name)
    check_kept(ledger, fates, by_name, drained=drained)
    check_express(ledger, by_name)
    check_removed(ledger, fates)
    check_sent_order(ledger, fates, sent)


# A manager by itself


def check_quiet(
    node: Node, ledger: Ledger, nodes: dict[str, Node], fates: Fates, *, drained: bool
) -> None:
    """Nothing is under way, and nothing is kept that is not needed."""
    core = node.core
    waits = 0
    for queue in core.queues.everything:
        if _leads_away(queue, nodes):
            waits += queue.kind is QueueKind.UNCONFIRMED or bool(queue.messages)
            continue
        assert not queue.holds, f"{node.name}: {queue.name} has held {list(queue.holds)}"
        if queue.kind is QueueKind.OUTGOING:
            left = queue.messages, len(queue.express.lookups())
            assert left == (0, 0), f"{node.name}: {queue.name} keeps {left} ({queue.transfer})"
        if queue.kind is QueueKind.UNCONFIRMED and drained:
            left_over = [ledger.letters[uid] for uid in uids(node, queue)]
            waits += len(left_over)
            # A receiver that was restored does not know any more what it owes.
            # One that comes too late over HTTP is dropped without a word ([MC-MQSRM] 3.1.7.3.3).
            for letter in left_over:
                is_late = letter.is_http and fates.of(letter).refused is not None
                assert letter.is_touched or is_late, (
                    f"{node.name}: {queue.name} waits for ever: {letter}"
                )
    assert not core.wants_commit
    assert not core.is_committing
    rows = node.store.committed.tables[Table.TRANSFER]
    sequences = [key for key in rows if key.startswith(OUTGOING)]
    known = sum(len(queue.sequences.all) for queue in core.queues.everything)
    assert len(sequences) == known, f"{node.name}: {len(sequences)} sequences, not {known}"
    if drained and not waits:
        assert not sequences, f"{node.name}: sequences of nothing: {sequences}"


def _leads_away(queue: ManagedQueue, nodes: dict[str, Node]) -> bool:
    """Whether a queue is for managers that are not to be trusted, or that are two."""
    name = queue.name.lower()
    if queue.kind not in (QueueKind.OUTGOING, QueueKind.UNCONFIRMED):
        return False
    if queue.main.properties.purpose is Purpose.ANSWER:
        return not any(str(node.guid) in name for node in nodes.values())
    if queue.main.properties.purpose is Purpose.ACKNOWLEDGE and (
        "10.9." in name or "nowhere" in name
    ):
        return True  # a manager that was dialled once may name any queue
    copied = [node for node in nodes.values() if node.is_copied]
    away = ["os:h\\", "-0066-", FOREIGN.split()[-1], *(str(node.guid) for node in copied)]
    away += [f"os:{node.name}\\" for node in copied]
    return any(part in name for part in away)


def check_books(node: Node) -> None:
    """Sizes and counts are those of what is there; the tables agree with one another."""
    core = node.core
    queues = core.queues.everything
    assert core.stored_size == sum(queue.size for queue in queues)
    assert core.express_size == sum(queue.express.size for queue in queues)
    assert core.reserved_size == sum(queue.reserved for queue in queues)
    messages: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    tables = node.store.committed.tables
    for key, row in tables[Table.INDEX].items():
        number = split_index_key(key)[0]
        messages[number] += 1
        sizes[number] += packet_place(row)[1]
    for key, row in tables[Table.RUNS].items():
        run = MessageRun.unpack(key, row)
        messages[run.queue] += run.left
        sizes[run.queue] += run.bytes_left
    for queue in queues:
        assert (queue.messages, queue.size) == (messages[queue.number], sizes[queue.number])
        for lookup, raw, _ in stored(node.store.snapshot, queue.number):
            is_over = place_and_expiry(raw)[2] < core.timeline.now
            assert not is_over, f"{node.name}: message {lookup} of {queue.name} did not expire"
    report = check_tables(node.store.snapshot, sum(map(len, tables)))
    assert report.is_whole, f"{node.name}: {report.findings}"


# Messages


def check_existence(letter: Letter) -> None:
    """What was acknowledged is there, and what was refused is not."""
    if letter.state is State.SENT and letter.is_stored:
        assert letter.is_out, f"acknowledged and not stored: {letter}"
    if letter.state is State.REFUSED:
        assert not letter.is_out, f"refused and stored: {letter}"
    assert letter.state is not State.SENDING, f"never answered: {letter}"
    assert len(letter.arrivals) <= 1, f"came twice: {letter}"
    assert letter.is_out or not letter.arrivals, f"out of nowhere: {letter}"


def check_stored(letter: Letter, fate: Fate) -> None:
    """A message that was on disk is somewhere, or there is a reason, and who asked was answered."""
    if not letter.is_out:
        assert not fate.journal
        assert not fate.dead
        assert not fate.acks
        return
    expired = Event.EXPIRED in fate.at_source
    refused = fate.refused
    assert len(fate.refusals) <= 1, f"refused twice {fate.refusals}: {letter}"
    purged = Event.PURGED in fate.at_source
    if not letter.arrivals:
        assert expired or purged or refused is not None, f"lost: {letter} {fate}"
    else:
        assert refused is None, f"refused and taken: {letter} {fate}"
    if expired:
        assert letter.reach is not None or letter.receive is not None, f"expired: {letter}"
    if refused is not None:
        check_reason(letter, refused)
    given_up = MessageClass.NACK_PURGED if purged else None
    given_up = expiry_class(fate) if expired else given_up
    check_dead(letter, fate, given_up)
    check_journal(letter, fate, given_up)
    check_acks(letter, fate, given_up)


def check_http(letter: Letter, fate: Fate) -> None:
    """A stored message that went over HTTP is somewhere, or there is a reason.

    One that is refused at once (400) is so at its sender; the receiver has a word of others only.
    """
    if not letter.is_stored:
        return
    gone = {Event.EXPIRED, Event.PURGED, Event.REJECTED} & {*fate.at_source}
    if letter.is_out and not letter.arrivals:
        assert gone or fate.refused is not None, f"lost over HTTP: {letter} {fate}"
    if Event.REJECTED in fate.at_source and not letter.arrivals:
        is_at_home = (letter.queue in TRANSACTIONAL) == (letter.sort is Sort.TRANSACTIONAL)
        assert not is_at_home or letter.queue == MISSING, f"refused for nothing: {letter} {fate}"
    if letter.sort is Sort.TRANSACTIONAL:
        assert fate.refused is not MessageClass.NACK_Q_EXCEED_QUOTA, f"dropped: {letter} {fate}"
    if not letter.dead_letter:
        assert not fate.dead, f"a dead letter: {letter} {fate}"
    elif letter.is_out and not letter.arrivals and gone and letter.source not in fate.discarded:
        places = [place for place, _ in fate.dead]
        assert places.count(letter.source) == 1, f"no dead letter: {letter} {fate}"
    assert len(fate.acks) == len({*fate.acks}), f"acknowledged twice: {letter} {fate}"


def check_touched(letter: Letter, fate: Fate) -> None:
    """After a restore only that is lost which the backup did not know.

    A message that its sender knows is in its queue, or was there before that queue was restored,
    or there is a reason. Who refused it may have forgotten that with the restore; its sender has
    not.
    """
    if letter.is_out and not letter.is_forgotten and not letter.arrivals and not letter.undone:
        known = {Event.EXPIRED, Event.PURGED, Event.REJECTED}
        reasons = known & {*fate.at_source}
        assert reasons or fate.refused is not None, f"lost after a restore: {letter} {fate}"


def check_gaps(node: Node, ledger: Ledger, fates: Fates) -> None:
    """What is missing after a restore is reported, and nothing else is.

    Where messages to a queue were refused, nothing may be known: the first one after the restore
    may be one of these, and its sender, started again, may not know what was before it.
    """
    rows = node.core.incoming.items()
    if not node.past:
        assert not any(row.missing for row in rows), f"{node.name} misses {rows}"
        return
    here = [letter for letter in ledger.letters.values() if letter.target == node.name]
    came = [item for letter in here for item in letter.arrivals if item.stream]
    stored = [letter for letter in here if letter.is_out and letter.is_stored]
    refused = {
        (letter.source, letter.queue) for letter in stored if fates.of(letter).refused is not None
    }
    lost = [
        item
        for letter in here
        for item in letter.undone
        if not letter.arrivals and (letter.source, letter.queue) not in refused
    ]
    for gone in lost:
        later = [item for item in came if item.stream == gone.stream and item.time > gone.time]
        if later and min(later).previous >= gone.number:
            known = any(row.missing for row in rows)
            assert known, f"{node.name} does not know that {gone} is missing: {rows}"


def expiry_class(fate: Fate) -> MessageClass:
    """Why a message expired where it was sent: before it was known to have arrived, or after."""
    if Event.REACHED in fate.at_source:
        return MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER
    return MessageClass.NACK_REACH_QUEUE_TIMEOUT


def check_reason(letter: Letter, refused: MessageClass) -> None:
    """A message is refused for what is wrong with it."""
    is_transactional = letter.sort is Sort.TRANSACTIONAL
    if letter.queue == MISSING:
        allowed = {MessageClass.NACK_BAD_DST_Q}
    elif is_transactional != (letter.queue in TRANSACTIONAL):
        wrong = MessageClass.NACK_NOT_TRANSACTIONAL_MSG
        allowed = {MessageClass.NACK_NOT_TRANSACTIONAL_Q if is_transactional else wrong}
    else:
        allowed = {MessageClass.NACK_Q_EXCEED_QUOTA} if "small" in letter.queue else set()
    if letter.reach is not None or letter.receive is not None:
        allowed.add(MessageClass.NACK_REACH_QUEUE_TIMEOUT)
    assert refused in allowed, f"refused as {refused!r}: {letter}"


def check_late(letter: Letter, fates: Fates, nodes: dict[str, Node]) -> None:
    """No message is refused as too late because two clocks differ by what they may (AMB-41)."""
    source, target = nodes[letter.source], nodes[letter.target]
    if source.clock.has_jumped or target.clock.has_jumped:
        return
    ahead = target.clock.offset - source.clock.offset
    limits = [letter.receive] if letter.receive is not None else []
    if letter.reach is not None:
        limits.append(letter.reach + target.core.settings.clock_tolerance)
    for item in fates.happened[letter.target].get(letter.identifier, ()):
        if item.event is Event.REJECTED and item.why == TOO_LATE:
            age = item.time - START - target.clock.offset - letter.sent_at
            assert age + ahead >= min(limits) - 1, f"not late after {age} s: {letter}"


def check_dead(letter: Letter, fate: Fate, given_up: MessageClass | None) -> None:
    """Dead letters are where they belong, once, and say why."""
    wanted: list[tuple[str, MessageClass]] = []
    is_transactional = letter.sort is Sort.TRANSACTIONAL
    if letter.dead_letter:
        if given_up is not None:
            wanted.append((letter.source, given_up))
        elif is_transactional and (reason := fate.refused or fate.lost) is not None:
            is_purged_at_home = letter.source == letter.target and reason is PURGED
            wanted += [] if is_purged_at_home else [(letter.source, reason)]
        if not is_transactional:
            quota = MessageClass.NACK_Q_EXCEED_QUOTA
            if fate.refused is quota:
                wanted.append((letter.target, quota))
            elif fate.lost is MessageClass.NACK_RECEIVE_TIMEOUT:
                wanted.append((letter.target, fate.lost))
    for item in fate.discarded:
        if item in [place for place, _ in wanted]:
            return  # there was no room for it
    assert sorted(fate.dead) == sorted(wanted), f"dead {fate.dead}, not {wanted}: {letter} {fate}"


def check_journal(letter: Letter, fate: Fate, given_up: MessageClass | None) -> None:
    """Its sender has a copy of what was delivered; of transactions, of what was consumed."""
    if not letter.journal or letter.source in fate.discarded:
        assert not fate.journal, f"in the journal: {letter}"
        return
    if letter.sort is Sort.TRANSACTIONAL:
        wanted = int(fate.is_received and given_up is None)
    else:
        wanted = int(given_up is None)
    assert fate.journal == wanted, f"{fate.journal} copies, not {wanted}: {letter} {fate}"


def check_acks(letter: Letter, fate: Fate, given_up: MessageClass | None) -> None:
    """Its sender hears what it asked for, once."""
    asked = letter.acknowledge
    if not asked:
        assert not fate.acks, f"acknowledged {fate.acks}, which no one asked for: {letter} {fate}"
        return
    wanted: list[MessageClass] = []
    if asked & Acknowledge.POS_ARRIVAL and letter.arrivals:
        wanted.append(MessageClass.ACK_REACH_QUEUE)
    if asked & Acknowledge.POS_RECEIVE and fate.is_received:
        wanted.append(MessageClass.ACK_RECEIVE)
    if asked & Acknowledge.NEG_ARRIVAL:
        if given_up is not None and given_up is not MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER:
            wanted.append(given_up)
        if fate.refused is not None and fate.refused is not MessageClass.NACK_BAD_DST_Q:
            wanted.append(fate.refused)
    if asked & Acknowledge.NEG_RECEIVE and fate.lost is not None:
        wanted.append(fate.lost)
    assert sorted(fate.acks) == sorted(wanted), f"{fate.acks}, not {wanted}: {letter} {fate}"


def check_order(ledger: Ledger, fates: Fates) -> None:
    """Transactional messages of a sender come into a queue in the order of the commits.

    Of programs that are connected, only what each of them commits has an order. What a sender over
    HTTP has given up may still come, behind what it has sent since (HTTP-55).
    """
    came: dict[tuple[str, ...], list[Letter]] = defaultdict(list)
    for letter in ledger.letters.values():
        if letter.sort is Sort.TRANSACTIONAL and letter.arrivals:
            if letter.is_http and {Event.EXPIRED, Event.PURGED} & {*fates.of(letter).at_source}:
                continue
            came[letter.source, letter.program, letter.target, letter.queue].append(letter)
    for letters in came.values():
        letters.sort(key=lambda letter: letter.arrivals[0].lookup)
        for before, after in pairwise(letters):
            assert before.order < after.order, f"out of order: {after} came behind {before}"


def check_receipts(ledger: Ledger, nodes: dict[str, Node]) -> None:
    """No message was received twice, and none that is left in a queue was received."""
    taken = Counter(receipt.uid for receipt in ledger.receipts)
    for uid, count in taken.items():
        letter = ledger.letters.get(uid)
        if letter is not None and letter.is_stored:
            assert count == 1, f"received {count} times: {letter}"
    for node in nodes.values():
        for name in (*PLAIN, *TRANSACTIONAL):
            for view in Fates.views(node, name):
                letter = ledger.letters.get(view.app_specific)
                if letter is not None and letter.is_stored:
                    assert not taken[letter.uid], f"received and still there: {letter}"


def check_kept(ledger: Ledger, fates: Fates, nodes: dict[str, Node], *, drained: bool) -> None:
    """What came is in its queue or a subqueue, or left it once, for a reason that is known.

    All lifetimes are over by now, where one clock tells them.
    If it was received, the program has it, unless one of the two died before the answer. If all
    queues were read to the end, it is not there any longer.
    """
    there: dict[str, Counter[int]] = {}
    for node in nodes.values():
        kinds = (*VISIBLE, QueueKind.SUBQUEUE)
        queues = [queue for queue in node.core.queues.everything if queue.kind in kinds]
        there[node.name] = Counter(uid for queue in queues for uid in uids(node, queue))
    taken = {receipt.uid for receipt in ledger.receipts}
    for letter in ledger.letters.values():
        if letter.is_touched or not letter.is_stored or not letter.arrivals:
            continue
        fate = fates.of(letter)
        left = [event for event in fate.at_target if event in LEFT]
        places = there[letter.target][letter.uid] + len(left)
        assert places == 1, f"in {places} places ({left}): {letter} {fate}"
        assert left or not drained, f"cannot be received: {letter} {fate}"
        if letter.source == letter.target and letter.receive is not None:
            assert left, f"lives for ever: {letter} {fate}"
        if Event.RECEIVED in left and not nodes[letter.target].crashes:
            is_known = letter.uid in taken or letter.uid in ledger.unsure
            assert is_known, f"removed, and not received: {letter} {fate}"


def check_express(ledger: Ledger, nodes: dict[str, Node]) -> None:
    """Express messages come once at most, and are lost only if a computer stopped."""
    seen: dict[int, list[float]] = defaultdict(list)
    for receipt in ledger.receipts:
        seen[receipt.uid].append(receipt.time)
    for node in nodes.values():
        for name in PLAIN:
            for view in Fates.views(node, name):
                seen[view.app_specific].append(float("inf"))
    for letter in ledger.letters.values():
        if letter.sort is not Sort.EXPRESS:
            continue
        times = sorted(seen[letter.uid])
        crashes = nodes[letter.target].crashes
        for after in times[1:]:
            # It is not remembered what came before a crash, and its sender may not have heard. Its
            # receiver may hear after the crash that it was received before.
            assert any(letter.sent_at <= at <= after for at in crashes), f"came twice: {letter}"
        if not times and letter.state is State.SENT:
            check_lost_express(letter, ledger, nodes)


def check_lost_express(letter: Letter, ledger: Ledger, nodes: dict[str, Node]) -> None:
    """An express message may be lost, but not for nothing."""
    is_at_home = letter.queue in PLAIN and "small" not in letter.queue
    lives_for_ever = letter.reach is None and letter.receive is None
    purged = (letter.target, letter.queue) in ledger.purged
    name = nodes[letter.source].name_of(letter.target, letter.queue)
    purged |= (letter.source, name) in ledger.purged
    crashed = nodes[letter.target].crashes or nodes[letter.source].crashes
    purged |= letter.uid in ledger.unsure
    assert not (is_at_home and lives_for_ever and not purged and not crashed), f"lost: {letter}"


def check_removed(ledger: Ledger, fates: Fates) -> None:
    """No message was removed in the name of a connected program that did not ask for it."""
    for letter in ledger.letters.values():
        for item in fates.happened[letter.target].get(letter.identifier, ()):
            if item.event is Event.RECEIVED and item.by.startswith(("program", "reader")):
                assert letter.uid in ledger.asked, f"removed for nothing by {item.by}: {letter}"


def check_sent_order(ledger: Ledger, fates: Fates, sent: Sent) -> None:
    """Messages of one priority that one session brings to a queue are there in their order.

    (DMPR-043.) Those that were sent more than once may have come with either try.
    """
    by_way: dict[tuple[int, str, int], list[tuple[int, Letter, int]]] = defaultdict(list)
    for letter in ledger.letters.values():
        tries = sent.get(letter.uid, ())
        if letter.is_touched or len(tries) != 1:
            continue
        came = [
            item
            for item in fates.happened[letter.target].get(letter.identifier, ())
            if item.event in (Event.ARRIVED, Event.ARRIVED_EXPRESS)
        ]
        if len(came) == 1:
            rank, arrival = came[0].lookup >> ARRIVAL_BITS, came[0].lookup & ARRIVAL_MASK
            link, place = tries[0]
            by_way[link, letter.queue, rank].append((place, letter, arrival))
    for letters in by_way.values():
        letters.sort(key=lambda item: item[0])
        for before, after in pairwise(letters):
            assert before[2] < after[2], f"overtaken: {after[1]} came before {before[1]}"
