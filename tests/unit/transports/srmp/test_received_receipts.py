"""Stream receipts that come, and which messages they release."""

from __future__ import annotations

import re

import pytest
from tests.unit.engine.world import NOW
from tests.unit.transports.srmp.web import (
    Fault,
    Web,
    WebSite,
    is_receipt,
    lose_receipts,
    send,
    web_pair,
)

from openmsmq.engine.outgoing.streams import NOWHERE, StreamPlace, stream_status
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import PostSource
from openmsmq.types.message import Message


def test_a_forged_receipt_cannot_acknowledge_what_was_not_sent() -> None:
    """SRMP-249."""
    web, a, b = web_pair()
    web.fault = lose_receipts
    send(a, "1")
    web.wait(2)
    queue = a.out()
    receipt = next(one for one in web.requests if is_receipt(one))
    a.local.dispatcher.pause(queue)
    send(a, "2")
    beyond = Request(
        receipt.target,
        receipt.host,
        receipt.content_type,
        receipt.content.replace(b"<lastOrdinal>1<", b"<lastOrdinal>900<"),
    )
    a.answer(beyond, PostSource("198.51.100.1"), lambda status: None)
    assert queue.messages == 1
    a.enter(lambda: a.local.dispatcher.resume(queue))
    web.wait(2)
    assert b.texts() == ["1", "2"]


@pytest.mark.parametrize("change", [b"@", b"\\"])
def test_receipts_of_unknown_streams_are_ignored(change: bytes) -> None:
    """SRMP-256: those of other managers, and with identifiers that were guessed."""
    web, a, _ = web_pair()
    web.fault = lose_receipts
    send(a, "1")
    web.wait(2)
    receipt = next(one for one in web.requests if is_receipt(one))
    identity = str(a.local.identity).encode()
    wrong = receipt.content.replace(b"uid:" + identity, b"uid:" + b"f" * 8 + identity[8:])
    if change == b"\\":
        wrong = re.sub(rb"\\(\d+)<", lambda found: b"\\%d<" % (int(found[1]) + 1), receipt.content)
    assert wrong != receipt.content
    a.answer(
        Request(receipt.target, receipt.host, receipt.content_type, wrong),
        PostSource("198.51.100.1"),
        lambda status: None,
    )
    assert a.out().messages == 1
    assert a.count("stream receipts of unknown streams") == 1


def final_receipts(web: Web) -> list[Request]:
    return [one for one in web.requests if is_receipt(one) and b"commitmentReceipt>" in one.content]


def awaiting(site: WebSite) -> int:
    """Messages that wait for their final receipt."""
    journal = site.out().journal
    return 0 if journal is None else journal.messages


def test_a_message_with_dead_letter_waits_until_it_is_received() -> None:
    """SRMP-113, SRMP-218, SRMP-219, SRMP-246, SRMP-255: the receipt is written with the receive."""
    web, a, b = web_pair()
    send(a, "1", "2", dead_letter=True)
    web.wait(2)
    assert (a.out().messages, awaiting(a)) == (0, 2)
    b.receive(b.local.find_queue("q"))
    web.wait(2)
    assert awaiting(a) == 1
    assert len(final_receipts(web)) == 1
    assert a.bodies(a.local.queues.transactional_dead_letter) == []


def test_a_message_that_is_purged_comes_back_as_a_dead_letter() -> None:
    """SRMP-259, SRMP-277: also after both have been restarted."""
    web, a, b = web_pair()
    send(a, "1", dead_letter=True)
    web.wait(2)
    a, b = a.restart_here(), b.restart_here()
    b.done(b.local.queue_lifecycle.purge(b.local.find_queue("q")))
    web.wait(2)
    assert a.bodies(a.local.queues.transactional_dead_letter) == [b"1"]
    assert awaiting(a) == 0
    assert a.out().sequences.all == []


def test_a_journaled_message_is_copied_when_the_stream_receipt_comes() -> None:
    """SRMP-253: no final receipt is sent for it ([MC-MQSRM] 3.1.5.1.8.4)."""
    web, a, b = web_pair()
    send(a, "1", journal=True)
    web.wait(2)
    assert a.bodies(a.local.queues.system_journal) == [b"1"]
    assert (a.out().messages, awaiting(a)) == (0, 0)
    b.receive(b.local.find_queue("q"))
    web.wait(2)
    assert final_receipts(web) == []


def test_a_final_receipt_for_another_message_changes_nothing() -> None:
    """SRMP-256, SRMP-257: number and identifier must be those of one message."""
    web, a, b = web_pair()
    send(a, "1", dead_letter=True)
    web.wait(2)
    web.fault = lose_receipts
    b.receive(b.local.find_queue("q"))
    web.wait(1)
    receipt = final_receipts(web)[0]
    statuses: list[int] = []
    for wrong in (
        receipt.content.replace(b"<lastOrdinal>1<", b"<lastOrdinal>2<"),
        re.sub(rb"<id>uuid:\d+@", b"<id>uuid:999999@", receipt.content),
    ):
        assert wrong != receipt.content
        forged = Request(receipt.target, receipt.host, receipt.content_type, wrong)
        a.answer(forged, PostSource("198.51.100.1"), statuses.append)
    assert statuses == [200, 200]
    assert awaiting(a) == 1
    assert a.count("final receipts of unknown messages") == 2


def test_a_final_receipt_is_answered_when_it_is_on_disk() -> None:
    web, a, b = web_pair()
    send(a, "1", dead_letter=True)
    web.wait(2)
    a.is_slow = True
    b.receive(b.local.find_queue("q"))
    web.wait(0.5)
    a.commit_fails()
    a.is_slow = False
    assert awaiting(a) == 1
    web.wait(5)
    assert awaiting(a) == 0


def test_receipts_never_touch_sequences_of_the_binary_protocol() -> None:
    web, a, _ = web_pair()
    queue = a.open("DIRECT=OS:elsewhere\\private$\\q")
    a.send_in(queue, Message(b"1"))
    a.local.dispatcher.take(queue, 1, 1 << 20, a.local.identity)
    send(a, "2")
    web.fault = lose_receipts
    web.wait(2)
    receipt = next(one for one in web.requests if is_receipt(one))
    number = queue.sequences.all[0].identifier.number
    forged = re.sub(rb"\\(\d+)<", lambda found: b"\\%d<" % number, receipt.content)
    a.answer(
        Request(receipt.target, receipt.host, receipt.content_type, forged),
        PostSource("198.51.100.1"),
        lambda status: None,
    )
    assert queue.messages == 1
    assert a.count("stream receipts of unknown streams") == 1


def test_the_figures_of_a_stream_follow_its_receipts() -> None:
    """SRMP-247, SRMP-250, SRMP-272: what management shows of it (EodNextSeq and the others)."""
    web, a, _ = web_pair()
    web.fault = lose_receipts
    send(a, "1", "2", "3")
    web.wait(2)
    queue = a.out()
    found = stream_status(a.local, queue)
    stream = found.first_unacknowledged.sequence
    assert stream == queue.sequences.all[0].identifier.number
    assert found.first_unacknowledged == StreamPlace(stream, 1, 0)
    assert found.last_unacknowledged == StreamPlace(stream, 3, 2)
    assert found.next == StreamPlace(stream, 4, 3)
    assert (found.last_ack, found.last_ack_count, found.last_ack_time) == (NOWHERE, 0, 0)
    assert (found.unacknowledged, found.unread, found.resend_interval) == (3, 0, 30)
    assert 27 <= found.resend_time - (NOW + web.now) <= 30
    web.wait(found.resend_time - (NOW + web.now) + 1)
    again = stream_status(a.local, queue)
    assert (again.sends, again.resend_interval) == (2, 30)
    assert again.resend_time >= found.resend_time + 30

    receipt = next(one for one in web.requests if is_receipt(one))
    partly = Request(
        receipt.target,
        receipt.host,
        receipt.content_type,
        receipt.content.replace(b"<lastOrdinal>3<", b"<lastOrdinal>2<"),
    )
    a.answer(partly, PostSource("198.51.100.1"), lambda status: None)
    found = stream_status(a.local, queue)
    assert found.last_ack == StreamPlace(stream, 2, 1)
    assert found.last_ack_time == int(NOW + web.now)
    assert found.first_unacknowledged == found.last_unacknowledged == StreamPlace(stream, 3, 2)
    assert (found.unacknowledged, found.last_ack_count) == (1, 1)

    web.fault = lambda request: Fault.NONE
    a.answer(receipt, PostSource("198.51.100.1"), lambda status: None)
    found = stream_status(a.local, queue)
    assert found.last_ack == StreamPlace(stream, 3, 2)
    assert (found.first_unacknowledged, found.last_unacknowledged) == (NOWHERE, NOWHERE)
    assert (found.unacknowledged, found.resend_time) == (0, 0)


def test_a_stream_whose_messages_are_all_gone_is_over() -> None:
    """The next message begins another one."""
    web, a, b = web_pair()
    web.fault = lambda request: Fault.LOST
    queue = a.out()
    send(a, "1")
    web.wait(2)
    assert len(queue.sequences.all) == 1
    a.done(a.local.queue_lifecycle.purge(queue))
    web.wait(2)
    assert a.out().sequences.all == []
    web.fault = lambda request: Fault.NONE
    send(a, "2")
    web.wait(60)
    assert b.bodies(b.local.find_queue("q")) == [b"2"]
