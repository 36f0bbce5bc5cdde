"""Stream receipts that are sent, and delivery and commitment receipts on their way."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from tests.unit.engine.office import Manager
from tests.unit.transports.srmp.web import (
    Fault,
    WebSite,
    is_receipt,
    lose_receipts,
    send,
    web_pair,
)

from openmsmq.engine.arrivals.destinations import streams_to
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import PostSource
from openmsmq.types.message import Message

ADMIN = "DIRECT=HTTP://a/msmq/private$/admin"


def test_one_receipt_covers_many_messages() -> None:
    """SRMP-116, SRMP-117, SRMP-205 to SRMP-207, SRMP-210: 500 ms after the last of them."""
    web, a, b = web_pair()
    send(a, *map(str, range(20)))
    web.wait(5)
    assert sum(is_receipt(request) for request in web.requests) == 1
    assert (b.receipts.sent, b.receipts.failures) == (1, 0)


def post(number: int) -> Request:
    """The first message of a stream whose receipts go to a host of its own."""
    web, a, _ = web_pair()
    send(a, "1")
    web.wait(0.1)
    request = web.requests[0]
    content = request.content.replace(b"http://a/", b"http://x%03d/" % number)
    content = re.sub(rb"\\(\d+)<", lambda found: b"\\%d<" % (number + 1), content)
    size = len(content) - len(request.content)
    content = re.sub(
        rb"Content-Length: (\d+)",
        lambda found: b"Content-Length: %d" % (int(found[1]) + size),
        content,
        count=1,
    )
    return Request(request.target, "b", request.content_type, content)


def test_receipts_to_hosts_that_do_not_answer_keep_no_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("openmsmq.transports.srmp.receipt_sender.RECEIPTS_POSTED_MAX", 5)
    web, _, b = web_pair()
    for number in range(20):
        b.answer(post(number), PostSource("198.51.100.1"), lambda status: None)
    web.wait(0.6)
    hosts = [request.host for request in web.requests]
    assert len(hosts) == 20
    assert len(b.receipts._posted) == 5


def test_a_receipt_that_is_not_delivered_is_sent_again() -> None:
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1")
    web.wait(8)
    assert sum(is_receipt(request) for request in web.requests) >= 3
    assert b.receipts.failures >= 2
    web.fault = lambda request: Fault.NONE
    web.wait(10)
    assert a.out().messages == 0


def test_after_the_stop_no_receipt_is_sent() -> None:
    web, a, b = web_pair()
    send(a, "1")
    web.wait(0.2)
    b.receipts.stop()
    web.wait(5)
    assert not any(is_receipt(request) for request in web.requests)
    assert b.receipts.dropped == 0


def test_nor_for_messages_that_come_later() -> None:
    web, a, b = web_pair()
    b.receipts.stop()
    send(a, "1")
    web.wait(5)
    assert web.requests
    assert not any(is_receipt(request) for request in web.requests)


@pytest.mark.parametrize("recoverable", [True, False])
def test_delivery_and_commitment_receipts_come_to_the_administration_queue(
    recoverable: bool,
) -> None:
    """SRMP-085, SRMP-087, SRMP-089, SRMP-110, SRMP-182, SRMP-183, SRMP-185, SRMP-211, SRMP-212."""
    web, a, b = web_pair(transactional=False)
    admin = a.create(".\\private$\\admin")
    (sent,) = a.send(
        a.out(),
        Message(
            b"1",
            label="order 1",
            recoverable=recoverable,
            admin_queue=ADMIN,
            acknowledge=Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE,
        ),
    )
    web.wait(1)
    (found,) = a.peek(admin)
    assert (found.message_class, found.label) == (MessageClass.ACK_REACH_QUEUE, "order 1")
    guid, _, number = sent.partition("\\")
    assert found.correlation_id == UUID(guid).bytes_le + int(number).to_bytes(4, "little")
    b.receive(b.local.find_queue("q"))
    web.wait(1)
    assert [one.message_class for one in a.peek(admin)] == [
        MessageClass.ACK_REACH_QUEUE,
        MessageClass.ACK_RECEIVE,
    ]


def test_the_receipts_of_a_message_that_waited_days_survive_a_restart() -> None:
    """SRMP-212: they are written with the commit that receives it."""
    web, a, b = web_pair(transactional=False)
    admin = a.create(".\\private$\\admin")
    message = Message(b"1", admin_queue=ADMIN, acknowledge=Acknowledge.POS_RECEIVE)
    a.send(a.out(), message)
    web.wait(1)
    b.restart_here().die()
    offline = Manager(b.store.committed, name="b")
    offline.receive(offline.local.find_queue("q"))
    WebSite(web, "b", offline.store.committed, run=9)
    web.wait(5)
    assert [one.message_class for one in a.peek(admin)] == [MessageClass.ACK_RECEIVE]


def test_a_negative_receipt_is_sent_when_the_message_expires_in_its_queue() -> None:
    """SRMP-090, SRMP-213, SRMP-215: only if it was asked for."""
    web, a, _ = web_pair(transactional=False)
    admin = a.create(".\\private$\\admin")
    for asked in (Acknowledge.NEG_RECEIVE, Acknowledge.POS_RECEIVE):
        message = Message(b"1", admin_queue=ADMIN, acknowledge=asked, time_to_be_received=30)
        a.send(a.out(), message)
    web.wait(60)
    web.wait(5)
    assert [one.message_class for one in a.peek(admin)] == [MessageClass.NACK_RECEIVE_TIMEOUT]


def test_after_a_restart_receipts_are_sent_that_may_be_lost() -> None:
    """SRMP-285: the sender need not send again for that; streams of long ago are left alone."""
    web, a, b = web_pair()
    send(a, "1")
    web.wait(0.2)
    b = b.restart_here()
    web.wait(2)
    assert a.out().messages == 0
    web.wait(4000)
    posted = len(web.requests)
    b.restart_here()
    web.wait(2)
    assert len(web.requests) == posted


def test_a_queue_knows_the_streams_that_end_in_it() -> None:
    """SRMP-202, SRMP-203: what is out of order is counted until the next one is accepted."""
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1", "2")
    web.wait(2)
    queue = b.local.find_queue("q")
    [found] = streams_to(b.local, queue)
    sequence = a.out().sequences.all[0]
    assert (UUID(bytes_le=found.source), found.id) == (a.local.identity, sequence.identifier.number)
    assert found.name.lower() == "direct=http://b/msmq/private$/q"
    assert (found.number, found.rejects) == (2, 0)
    first_time = found.time
    first = next(one for one in web.requests if not is_receipt(one))
    for _ in range(2):
        b.answer(first, PostSource(a.address), lambda status: None)
    [found] = streams_to(b.local, queue)
    assert (found.number, found.rejects) == (2, 2)
    web.wait(10)
    send(a, "3")
    web.wait(2)
    [found] = streams_to(b.local, queue)
    assert (found.number, found.rejects) == (3, 0)
    assert found.time > first_time
    assert b.texts() == ["1", "2", "3"]
