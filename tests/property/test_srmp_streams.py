"""Transactional messages over HTTP from manager to manager: once and in order, whatever happens."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from tests.quick import first_quick
from tests.unit.transports.srmp.web import (
    Fault,
    Web,
    WebSite,
    is_receipt,
    lose_receipts,
    messages,
    places,
    send,
    web_pair,
)

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.incoming import IncomingSequences
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.soap.envelope import StreamHeader
from openmsmq.transports.srmp.exchange import PostSource
from openmsmq.transports.srmp.receipts import SrmpReceipts
from openmsmq.types.message import Message


def test_messages_of_a_transaction_arrive_and_leave_with_the_receipt() -> None:
    """SRMP-102, SRMP-160, SRMP-161, SRMP-233, SRMP-241, SRMP-242, SRMP-244, SRMP-252, SRMP-260."""
    web, a, b = web_pair()
    send(a, "1", "2", "3")
    web.wait(0.3)
    assert b.texts() == ["1", "2", "3"]
    assert a.out().messages == 3
    web.wait(2)
    assert a.out().messages == 0
    assert places(web) == [(1, None, True), (2, 1, False), (3, 2, False)]
    assert a.count("delivered") == 3
    assert a.out().sequences.all == []


def test_the_first_message_is_answered_before_others_follow() -> None:
    """Without it the receiver knows no address for receipts (HTTP-51)."""
    web, a, b = web_pair()
    web.fault = lambda request: Fault.LOST
    send(a, "1", "2")
    web.wait(30)
    assert {number for number, _, _ in places(web)} == {1}
    web.fault = lambda request: Fault.NONE
    web.wait(30)
    assert b.texts() == ["1", "2"]


def test_if_the_first_message_expires_unanswered_the_next_one_opens_a_stream() -> None:
    """SRMP-228 to SRMP-231: a stream must begin with number 1 (HTTP-51)."""
    web, a, b = web_pair()
    web.fault = lambda request: Fault.LOST
    send(a, "1", time_to_reach_queue=5)
    send(a, "2", "3")
    web.wait(20)
    web.fault = lambda request: Fault.NONE
    web.wait(40)
    assert b.texts() == ["2", "3"]
    assert [place for place in places(web) if place[2]][-1][0] == 1
    assert a.out().messages == 0


def test_a_message_that_expires_later_leaves_a_gap_that_previous_closes() -> None:
    """SRMP-101, SRMP-198, SRMP-231, SRMP-245."""
    web, a, b = web_pair()
    send(a, "1")
    web.wait(5)
    queue = a.out()
    a.local.dispatcher.pause(queue)
    send(a, "2", time_to_reach_queue=5)
    send(a, "3")
    web.wait(10)
    a.enter(lambda: a.local.dispatcher.resume(queue))
    web.wait(5)
    assert b.texts() == ["1", "3"]
    assert queue.messages == 0


def test_messages_without_receipt_are_posted_again_after_30_seconds() -> None:
    """SRMP-248, SRMP-271: and not taken twice."""
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1", "2")
    web.wait(29)
    assert len(messages(web)) == 2
    web.fault = lambda request: Fault.NONE
    web.wait(5)
    assert len(messages(web)) == 4
    assert b.texts() == ["1", "2"]
    assert a.out().messages == 0


def test_a_message_that_is_refused_is_a_dead_letter_and_the_others_go_on() -> None:
    """SRMP-235, SRMP-277 (HTTP-38)."""
    web, a, b = web_pair()
    send(a, "1", dead_letter=True)
    web.wait(5)
    b.done(b.local.delete_queue(".\\private$\\q"))
    send(a, "2", dead_letter=True)
    web.wait(5)
    letters = a.local.queues.transactional_dead_letter
    assert b"2" in a.bodies(letters)
    b.create(".\\private$\\q", transactional=True)
    send(a, "3")
    web.wait(5)
    assert b.texts() == ["3"]


def test_a_sender_that_comes_back_sends_on_and_nothing_comes_twice() -> None:
    """SRMP-261, SRMP-284, SRMP-291, SRMP-293: what is new comes in a new stream."""
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1", "2")
    web.wait(1)
    a = a.restart_here()
    send(a, "3")
    web.wait(1)
    assert b.texts() == ["1", "2"]
    web.fault = lambda request: Fault.NONE
    web.wait(60)
    assert b.texts() == ["1", "2", "3"]
    assert a.out().messages == 0


def test_a_receiver_that_comes_back_remembers_how_far_the_stream_came() -> None:
    """SRMP-264, SRMP-285: with the address for receipts."""
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1", "2")
    web.wait(1)
    b = b.restart_here()
    web.fault = lambda request: Fault.NONE
    web.wait(60)
    assert b.texts() == ["1", "2"]
    assert a.out().messages == 0


def test_nothing_is_answered_200_before_it_is_on_disk() -> None:
    """SRMP-184, SRMP-209: with what makes it known the next time (HTTP-41)."""
    web, a, b = web_pair()
    b.is_slow = True
    send(a, "1")
    web.wait(0.5)
    b.commit_fails()
    assert a.transport.route(a.out()).state == "waiting"
    b.is_slow = False
    web.wait(30)
    assert b.texts() == ["1"]


def test_a_stream_goes_on_if_its_first_answer_could_not_be_noted() -> None:
    """The first message waits for its receipt: the second does not open a stream of its own."""
    web, a, b = web_pair()
    send(a, "1", "2")
    a.is_slow = True
    web.wait(0.1)
    a.commit_fails()
    a.is_slow = False
    web.wait(40)
    assert b.texts() == ["1", "2"]
    assert a.out().messages == 0
    assert {stream.id for stream in streams(web)} == {streams(web)[0].id}


def test_a_stream_goes_on_while_its_first_message_waits_for_the_last_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its receipt came although its answer was never noted: the last word names its stream."""
    web, a, b = web_pair()
    monkeypatch.setattr(a.local.dispatcher, "establish", lambda queue, sequence, done: done())
    send(a, "1", "2", dead_letter=True)
    web.wait(40)
    assert {stream.id for stream in streams(web)} == {streams(web)[0].id}
    queue = b.local.find_queue("q")
    assert [b.receive(queue).body for _ in "12"] == [b"1", b"2"]
    web.wait(5)
    out = a.out()
    assert out.journal is not None
    assert (out.messages, out.journal.messages) == (0, 0)
    assert out.sequences.all == []


def test_a_stream_may_come_from_changing_addresses() -> None:
    """Through several proxies, say: no message comes twice for that."""
    web, a, b = web_pair()
    web.source = lambda site: PostSource(f"192.0.2.{len(web.requests) % 7}")
    web.fault = lambda request: random.Random(len(web.requests)).choice(list(Fault))
    send(a, *map(str, range(20)))
    web.wait(600)
    assert b.texts() == list(map(str, range(20)))


def test_the_stream_of_one_certificate_is_not_that_of_another() -> None:
    web, a, b = web_pair()
    send(a, "1", "2")
    web.source = lambda site: PostSource(site.address, b"one")
    web.wait(0.2)
    assert b.texts() == ["1", "2"]
    posted = [one for one in web.requests if not is_receipt(one)]
    b.answer(posted[1], PostSource(a.address, b"another"), lambda status: None)
    assert b.texts() == ["1", "2"]
    b.answer(posted[0], PostSource(a.address, b"another"), lambda status: None)
    assert b.texts() == ["1", "2", "1"]


def test_a_full_queue_makes_the_stream_wait() -> None:
    """Nothing of it is lost: the message keeps its number and comes again (HTTP-49)."""
    web, a, b = web_pair(quota=6)
    queue = b.local.find_queue("q")
    for n in range(3):
        send(a, str(n) * 900)
    web.wait(10)
    assert 0 < len(b.texts()) < 3
    received = []
    for _ in range(3):
        received.append(b.receive(queue).body[:1])
        web.wait(60)
    assert received == [b"0", b"1", b"2"]


def test_messages_and_streams_share_an_outgoing_queue() -> None:
    """What the destination cannot take is refused, the rest goes on."""
    web, a, b = web_pair()
    a.send(a.out(), Message(b"plain"))
    send(a, "1")
    web.wait(5)
    assert b.texts() == ["1"]
    assert a.out().messages == 0
    assert a.count("rejected") == 1


def test_only_the_next_message_of_a_stream_is_taken() -> None:
    """SRMP-196, SRMP-197, SRMP-199, SRMP-200: all of them are answered 200."""
    web, a, _ = web_pair()
    send(a, "1", "2", "3")
    web.wait(0.3)
    first, second, third = web.requests
    _, _, b = web_pair()
    statuses: list[int] = []
    for request in (second, first, first, third, second, first, second, third, third):
        b.answer(request, PostSource("198.51.100.7"), statuses.append)
    assert b.texts() == ["1", "2", "3"]
    assert statuses == [200] * 9


def streams(web: Web) -> list[StreamHeader]:
    """The stream entries of all messages that were posted."""
    found = [message.envelope.stream for message in messages(web)]
    return [one for one in found if one is not None]


def take_all(site: WebSite, received: list[str]) -> None:
    """Receive what is in the queue."""
    queue = site.local.find_queue("q")
    while queue.messages:
        received.append(site.receive(queue).body.decode())


def run(seed: int) -> None:
    """Requests, answers and receipts are lost, doubled and late; both managers are killed.

    Commits may be slow, and lost with the process.
    """
    chance = random.Random(seed)
    web, a, b = web_pair()
    faults = [Fault.NONE] * chance.randrange(1, 12) + list(Fault)
    web.fault = lambda request: chance.choice(faults)
    sent: list[str] = []
    received: list[str] = []
    for _ in range(chance.randrange(5, 30)):
        match chance.randrange(12):
            case 0:
                a = a.restart_here()
            case 1:
                b = b.restart_here()
            case 2:
                web.wait(chance.choice([5, 40, 400]))
            case 3:
                b.is_slow = True
                web.wait(chance.random())
                if chance.random() < 0.5:
                    b = b.restart_here()
                b.is_slow = False
            case 4:
                take_all(b, received)
            case _:
                bodies = [str(len(sent) + n) for n in range(3)]
                send(a, *bodies, dead_letter=chance.random() < 0.3)
                sent += bodies
        web.wait(chance.random())
    web.fault = lambda request: Fault.NONE
    web.wait(50_000)
    take_all(b, received)
    web.wait(1000)
    assert received == sent
    queue = a.out()
    assert (queue.messages, 0 if queue.journal is None else queue.journal.messages) == (0, 0)
    assert queue.sequences.all == []


@pytest.mark.parametrize("seed", first_quick(range(12)))
def test_whatever_happens_every_message_comes_once_and_in_order(seed: int) -> None:
    """SRMP-096, SRMP-097, SRMP-208, SRMP-262."""
    run(seed)


@pytest.mark.torture
@pytest.mark.parametrize("start", range(0, 3000, 250))
def test_3000_seeds(start: int) -> None:
    """SRMP-096, SRMP-097: the same, for hours of the network."""
    for seed in range(start, start + 250):
        run(seed)


def run_seeds(count: int) -> None:
    for seed in range(count):
        run(seed)


def acknowledge_too_much(patch: pytest.MonkeyPatch) -> None:
    right = Confirmations.acknowledged

    def wrong(
        self: Confirmations, queue: ManagedQueue, sequence: OutgoingSequence, number: int
    ) -> bool:
        self.all_acknowledged(queue, sequence)
        return right(self, queue, sequence, number)

    patch.setattr(Confirmations, "acknowledged", wrong)


def answer_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    right = Arrivals.take

    def wrong(
        self: Arrivals,
        origin: Origin,
        arrivals: Sequence[Arrival],
        done: Callable[[ArrivalOutcome], None],
    ) -> None:
        done(ArrivalOutcome())
        right(self, origin, arrivals, lambda outcome: None)

    patch.setattr(Arrivals, "take", wrong)


def forget_streams_at_a_restart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IncomingSequences, "write", lambda self, writer, keys: None)


def forget_final_receipts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SrmpReceipts, "final", lambda self, packet, reason, context: None)


@pytest.mark.parametrize(
    "plant",
    [
        acknowledge_too_much,
        answer_before_the_commit,
        forget_streams_at_a_restart,
        forget_final_receipts,
    ],
)
def test_a_planted_mistake_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run_seeds(40)
