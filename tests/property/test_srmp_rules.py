"""Rules that other transports share, asserted for messages over HTTP, between running managers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.engine import handles
from tests.unit.engine.world import NOW, OWNER
from tests.unit.transports.srmp.web import Fault, Web, WebSite, messages, send, web_pair

from openmsmq.engine.arrivals.limits import DUPLICATE_AGE_MAX, STRANGER_DUPLICATES_MAX
from openmsmq.engine.outgoing.info import outgoing_info
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Record
from openmsmq.engine.storage.tables import Table
from openmsmq.soap.request import Request
from openmsmq.soap.scalars import SoapMessageId
from openmsmq.transports.srmp.exchange import PostSource
from openmsmq.types.access import Access
from openmsmq.types.message import Message

SOMEONE = PostSource("192.0.2.7")


def plain_pair() -> tuple[Web, WebSite, WebSite]:
    return web_pair(transactional=False)


def lost(request: Request) -> Fault:
    return Fault.LOST


def none(request: Request) -> Fault:
    return Fault.NONE


def post(site: WebSite, request: Request) -> int:
    """Post a request once more; the status of the answer."""
    statuses: list[int] = []
    site.answer(request, SOMEONE, statuses.append)
    return statuses[0]


def changed(request: Request, old: bytes, new: bytes) -> Request:
    """A request whose envelope says something else of the same length."""
    assert len(old) == len(new)
    assert old in request.content
    return replace(request, content=request.content.replace(old, new))


def ids(web: Web) -> list[int]:
    return [SoapMessageId.read(one.envelope.path.id, "id").number for one in messages(web)]


def stream_ids(web: Web) -> list[int]:
    """The identifiers of streams, as they were begun."""
    found = [one.envelope.stream for one in messages(web)]
    return list(dict.fromkeys(one.id.number for one in found if one is not None))


def letters(site: WebSite, queue: ManagedQueue) -> list[bytes]:
    return site.bodies(queue)


# Arrival


@pytest.mark.parametrize("lifetime", ["time_to_reach_queue", "time_to_be_received"])
def test_a_message_that_comes_too_late_is_not_processed(lifetime: str) -> None:
    """SRMP-076, SRMP-138: it is answered with 200, for to send it again would be in vain (HTTP-03).

    Clocks may differ by what the manager tolerates.
    """
    web, a, b = plain_pair()
    a.send(a.out(), Message(b"1", **{lifetime: 5}))  # type: ignore[arg-type]
    web.wait(1)
    assert b.texts() == ["1"]
    b.receive(b.local.find_queue("q"))
    again = web.requests[0]
    web.wait(5000)
    number = f"uuid:{ids(web)[0]}@".encode()
    other = f"uuid:{ids(web)[0] + 1}@".encode()
    assert post(b, changed(again, number, other)) == 200
    assert b.texts() == []
    assert b.count("rejected") == 1


def test_the_time_of_arrival_is_that_of_the_receiver() -> None:
    """SRMP-141."""
    web, a, b = plain_pair()
    a.send(a.out(), Message(b"1"))
    web.wait(1)
    first = web.requests[0]
    web.wait(100)
    b.receive(b.local.find_queue("q"))
    number = ids(web)[0]
    assert post(b, changed(first, b"uuid:%d@" % number, b"uuid:%d@" % (number + 1))) == 200
    found = b.local.receiver.peek(b.local.find_queue("q"), 1, OWNER, wait=False).result()
    assert Record.unpack(found[0].record).arrived_time == int(NOW + web.now)


def test_the_steps_of_an_arrival_come_in_their_order() -> None:
    """SRMP-174, SRMP-181: format, destination, expiry, duplicates, insertion."""
    web, a, b = plain_pair()
    a.send(a.out(), Message(b"1", time_to_reach_queue=5))
    web.wait(1)
    first = web.requests[0]
    web.wait(5000)
    assert post(b, changed(first, b"</se:Envelope>", b"</se:Envelopf>")) == 400
    elsewhere = changed(first, b"private$/q<", b"private$/x<")
    assert post(b, changed(elsewhere, b"</se:Envelope>", b"</se:Envelopf>")) == 400
    assert post(b, elsewhere) == 400, "no such queue, though it is late, too"
    assert post(b, first) == 200, "late, and known"
    assert b.texts() == ["1"]


def test_messages_that_were_taken_are_known_after_a_restart() -> None:
    """SRMP-189, SRMP-290: the history of identifiers is on disk."""
    web, a, b = plain_pair()
    a.send(a.out(), Message(b"1"))
    web.wait(1)
    b = b.restart_here()
    b.answer(web.requests[0], PostSource(a.address), lambda status: None)
    assert b.texts() == ["1"]


def test_identifiers_are_remembered_for_half_an_hour() -> None:
    """SRMP-190: and more of them than the 10,000 of Windows (docs/limits.md)."""
    web, a, b = plain_pair()
    a.send(a.out(), Message(b"1"))
    web.wait(1)
    first, sender = web.requests[0], PostSource(a.address)
    web.wait(DUPLICATE_AGE_MAX - 60)
    b.answer(first, sender, lambda status: None)
    assert b.texts() == ["1"]
    b.receive(b.local.find_queue("q"))
    web.wait(DUPLICATE_AGE_MAX + 60)
    a.send(a.out(), Message(b"2"))  # the oldest are dropped when one is added
    web.wait(1)
    b.answer(first, sender, lambda status: None)
    assert b.texts() == ["2", "1"]
    assert (DUPLICATE_AGE_MAX, STRANGER_DUPLICATES_MAX >= 10_000) == (1800, True)


def test_who_may_not_write_to_a_queue_is_answered_200_and_dropped() -> None:
    """SRMP-191: everyone needs the right, for all posts."""
    web, a, b = plain_pair()
    queue = b.local.find_queue("q")
    b.done(b.local.set_permissions(queue, "D:(A;;DC;;;WD)"))
    a.send(a.out(), Message(b"1", dead_letter=True))
    web.wait(1)
    assert b.texts() == []
    assert a.out().messages == 0
    assert letters(a, a.local.queues.dead_letter) == []
    assert b.count("rejected") == 1


def test_a_message_beyond_the_quota_of_its_queue_is_dropped() -> None:
    """SRMP-194: with 200; messages of streams wait instead (HTTP-49)."""
    web, a, b = web_pair(transactional=False, quota=16)
    for _ in range(5):
        a.send(a.out(), Message(b"x" * 4000))
    web.wait(5)
    assert 0 < len(b.texts()) < 5
    assert a.out().messages == 0
    assert b.count("rejected") == 5 - len(b.texts())


# Sending


def test_a_durable_message_is_on_disk_before_it_is_posted() -> None:
    """SRMP-083."""
    web, a, b = plain_pair()
    queue = a.out()
    a.is_slow = True
    handles.send(a.local, queue, [Message(b"1")], None)
    web.wait(1)
    assert web.requests == []
    a.is_slow = False
    web.wait(1)
    web.wait(1)
    assert b.texts() == ["1"]


def test_all_that_is_sent_has_the_entry_of_msmq() -> None:
    """SRMP-118: messages, and stream receipts."""
    web, a, _ = web_pair()
    send(a, "1")
    web.wait(5)
    assert len(web.requests) == 2
    assert all(b'<Msmq xmlns="msmq.namespace.xml">' in one.content for one in web.requests)


def test_identifiers_of_messages_grow_by_one_and_never_fall() -> None:
    """SRMP-164, SRMP-283."""
    web, a, _ = plain_pair()
    for _ in range(3):
        a.send(a.out(), Message(b"1"))
        web.wait(1)
    first, second, third = ids(web)
    assert (second, third) == (first + 1, first + 2)
    a = a.restart_here()
    a.send(a.out(), Message(b"1"))
    web.wait(1)
    assert ids(web)[-1] > third


def test_identifiers_of_streams_grow_by_one_and_never_fall() -> None:
    """SRMP-243, SRMP-265, SRMP-283, SRMP-290: each outgoing queue has a stream of its own.

    Those of each begin somewhere at random (HTTP-50).
    """
    web, a, b = web_pair()
    b.create(".\\private$\\r", transactional=True)
    send(a, "1", "2")
    a.send_in(a.out(queue="r"), Message(b"3"))
    web.wait(0.3)
    first, second = stream_ids(web)
    assert abs(second - first) > 1
    assert (b.texts(), b.texts("r")) == (["1", "2"], ["3"])
    web.wait(5)
    a = a.restart_here()
    send(a, "4")
    web.wait(5)
    assert stream_ids(web)[-1] == first + 1


def test_what_was_acknowledged_is_discarded() -> None:
    """SRMP-263: nothing of it is left on disk."""
    web, a, _ = web_pair()
    send(a, "1", "2")
    web.wait(0.3)
    assert a.out().messages == 2
    web.wait(5)
    assert a.out().messages == 0
    assert not a.store.committed.tables[Table.PACKETS]


def test_messages_that_wait_to_be_sent_survive_and_are_sent_by_the_next_process() -> None:
    """SRMP-281, SRMP-282, SRMP-292: under the same identity; express messages are gone."""
    web, a, b = web_pair()
    web.fault = lost
    send(a, "1")
    a.send(a.out(), Message(b"express", recoverable=False))
    web.wait(1)
    identity = a.local.identity
    a = a.restart_here()
    assert a.local.identity == identity
    web.fault = none
    web.wait(60)
    assert b.texts() == ["1"]
    assert b.count("rejected") == 0


def test_a_new_message_is_neither_under_way_nor_held() -> None:
    """SRMP-223."""
    _, a, _ = plain_pair()
    queue = a.out()
    a.local.dispatcher.pause(queue)
    a.send(queue, Message(b"1"))
    assert (a.local.dispatcher.in_transit(queue), len(queue.holds)) == (0, 0)


def test_it_is_counted_what_was_not_acknowledged_and_not_read() -> None:
    """SRMP-258: each message that is known to have been received leaves one less."""
    web, a, b = web_pair()
    send(a, "1", "2", dead_letter=True)
    web.wait(0.3)

    def counts() -> tuple[int, int]:
        info = outgoing_info(a.local, a.out())
        return info.unacknowledged, info.unprocessed

    assert counts() == (2, 0)
    web.wait(5)
    assert counts() == (0, 2)
    for left in (1, 0):
        b.receive(b.local.find_queue("q"))
        b.enter(lambda: None)
        web.wait(5)
        assert counts() == (0, left)


# Dead letters


def test_a_message_that_expires_or_is_purged_unsent_is_a_dead_letter() -> None:
    """SRMP-217: outside of streams in the queue for those, whose name is DeadLetter$."""
    web, a, _ = plain_pair()
    web.fault = lost
    a.send(a.out(), Message(b"1", dead_letter=True, time_to_reach_queue=5))
    web.wait(60)
    a.local.dispatcher.pause(a.out())
    a.send(a.out(), Message(b"2", dead_letter=True))
    a.send(a.out(), Message(b"3"))
    a.done(a.local.queue_lifecycle.purge(a.out()))
    assert sorted(letters(a, a.local.queues.dead_letter)) == [b"1", b"2"]


def test_the_queues_of_the_system_have_the_names_that_windows_gives_them() -> None:
    """SRMP-280."""
    _, a, _ = plain_pair()
    queues = a.local.queues
    names = ["DeadLetter$", "XactDeadLetter$", "Journal$"]
    found = [a.open(f".\\{name}", Access.RECEIVE) for name in names]
    assert found == [queues.dead_letter, queues.transactional_dead_letter, queues.system_journal]


def test_an_application_can_have_a_dead_letter_queue_of_its_own() -> None:
    """SRMP-278: if it is there and transactional; else it is that of the system."""
    web, a, _ = web_pair()
    own, _ = (a.create(f".\\private$\\{name}", transactional=True) for name in ("own", "gone"))
    web.fault = lost
    for body, name in ((b"1", "own"), (b"2", "gone")):
        letter = Message(
            body, dead_letter_queue=f"DIRECT=OS:a\\private$\\{name}", time_to_reach_queue=5
        )
        a.send_in(a.out(), letter)
    a.done(a.local.delete_queue(".\\private$\\gone"))
    web.wait(60)
    assert letters(a, own) == [b"1"]
    assert letters(a, a.local.queues.transactional_dead_letter) == [b"2"]
