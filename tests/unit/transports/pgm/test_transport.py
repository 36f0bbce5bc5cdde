"""Messages to groups, from one manager to others."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from tests.unit.transports.pgm.group import TICKER, GroupHost, Segment

from openmsmq.errors import (
    MessageTooLarge,
    QueueNotFound,
    TransactionUsage,
    UnsupportedFormatNameOperation,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.transports.pgm.packets import Ncf, OptionType, PgmData, Spm, decode
from openmsmq.transports.pgm.source import SourceState
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.types.access import Access
from openmsmq.types.message import Message
from openmsmq.types.outgoing import TransferState


def test_a_message_reaches_every_queue_of_the_address() -> None:
    """PGM-053, PGM-055, PGM-057, SRMP-296, SYS-103, DMPR-164: on every computer, several on one."""
    segment = Segment()
    sender, first, second = (GroupHost(segment) for _ in range(3))
    queues = [first.listen("a"), second.listen("b"), second.listen("c")]
    other = second.listen("other", "234.1.1.1:8002")
    sender.publish(Message(b"1", label="one"), Message(b"2", label="two"))
    segment.wait(1.0)
    for host, queue in zip((first, second, second), queues, strict=True):
        assert host.labels(queue) == ["one", "two"]
    assert not second.labels(other)
    outgoing = sender.local.queues.find_outgoing(parse_format_name(TICKER))
    assert outgoing is None or not outgoing.messages, "it was handed over: nothing confirms it"
    opened = sender.open(TICKER, Access.SEND)
    assert opened.transfer is not None
    assert opened.transfer.is_multicast


def test_what_gets_lost_is_repaired_for_each() -> None:
    """PGM-075, PGM-077, PGM-109, PGM-110."""
    segment = Segment(loss=0.15)
    timing = PgmTiming(rate=1_000_000)
    sender, first, second = (GroupHost(segment, timing=timing) for _ in range(3))
    queues = [(first, first.listen("a")), (second, second.listen("b"))]
    segment.wait(0.1)
    sender.publish(Message(b"start", label="start"))
    segment.wait(2.0)
    for start in range(0, 60, 10):
        many = [Message(bytes(3000), label=f"{n}") for n in range(start, start + 10)]
        sender.publish(*many)
        segment.wait(0.5)
    segment.wait(30.0)
    for host, queue in queues:
        labels = [label for label in host.labels(queue) if label != "start"]
        assert labels == [f"{n}" for n in range(60)]


def test_names_of_groups_are_only_sent_to() -> None:
    """PGM-054."""
    host = GroupHost(Segment())
    for access in (Access.RECEIVE, Access.PEEK):
        with pytest.raises((QueueNotFound, UnsupportedFormatNameOperation)):
            host.open(TICKER, access)


def test_what_cannot_go_to_a_group_is_refused_when_it_is_sent() -> None:
    """PGM-042, PGM-043, PGM-058, SRMP-298."""
    host = GroupHost(Segment())
    queue = host.open(TICKER, Access.SEND)
    with pytest.raises(MessageTooLarge, match="at most 60000"):
        host.send(queue, Message(bytes(60_000)))
    transaction = host.local.begin()
    with pytest.raises(TransactionUsage, match="not in a transaction"):
        host.send(queue, Message(b"x"), transaction=transaction)


def test_the_largest_message_fits_with_its_envelope() -> None:
    """PGM-042, PGM-043, SRMP-036, SRMP-298."""
    segment = Segment()
    sender, receiver = (GroupHost(segment, timing=PgmTiming(rate=10_000_000)) for _ in range(2))
    queue = receiver.listen("a")
    sender.publish(Message(bytes(58_500), label="&" * 249, extension=bytes(700)))
    segment.wait(2.0)
    [message] = receiver.peek(queue)
    assert (len(message.body), message.label) == (58_500, "&" * 249)


def test_a_full_window_keeps_messages_in_their_queue() -> None:
    """PGM-086: none is lost."""
    segment = Segment()
    timing = PgmTiming(rate=20_000, window_s=10.0)
    sender, receiver = GroupHost(segment, timing=timing), GroupHost(segment, timing=timing)
    queue = receiver.listen("a")
    sender.publish(*(Message(bytes(50_000), label=f"{n}") for n in range(8)))
    segment.wait(0.1)
    outgoing = sender.local.queues.find_outgoing(parse_format_name(TICKER))
    assert outgoing is not None
    assert outgoing.messages > 0
    segment.wait(120.0)
    assert receiver.labels(queue) == [f"{n}" for n in range(8)]


def test_a_session_ends_without_messages_and_another_begins() -> None:
    """PGM-034, PGM-092, PGM-093: with another port."""
    segment = Segment()
    host = GroupHost(segment)
    host.publish(Message(b"1"))
    segment.wait(301.0)
    [closing] = host.transport.sources
    assert closing.state is SourceState.CLOSING
    host.publish(Message(b"2"))
    segment.wait(1.0)
    ports = {source.tsi.port for source in host.transport.sources}
    assert len(ports) == 2
    segment.wait(40.0)
    assert len(list(host.transport.sources)) == 1


def test_a_paused_queue_sends_nothing() -> None:
    segment = Segment()
    sender, receiver = GroupHost(segment), GroupHost(segment)
    queue = receiver.listen("a")
    outgoing = sender.open(TICKER, Access.SEND)
    sender.send(outgoing, Message(b"1", label="before"))
    segment.wait(1.0)
    sender.local.dispatcher.pause(outgoing)
    sender.send(outgoing, Message(b"2", label="after"))
    segment.wait(5.0)
    assert receiver.labels(queue) == ["before"]
    assert outgoing.transfer is not None
    assert [attempt.error for attempt in outgoing.transfer.attempts] == [0]
    assert outgoing.transfer.state is TransferState.ON_HOLD
    sender.local.dispatcher.resume(outgoing)
    segment.wait(5.0)
    assert receiver.labels(queue) == ["before", "after"]


def test_the_way_of_a_queue_is_shown() -> None:
    segment = Segment()
    host = GroupHost(segment)
    outgoing = host.open(TICKER, Access.SEND)
    host.send(outgoing, Message(b"1"))
    status = host.transport.route(outgoing)
    assert (status.state, status.next_hop) == ("connected", "234.1.1.1:8001")
    assert status.connected_since is not None
    assert host.transport.sessions() == {}


def test_a_stop_says_that_nothing_more_comes() -> None:
    """PGM-089."""
    segment = Segment()
    host = GroupHost(segment)
    host.publish(Message(b"1"))
    segment.wait(1.0)
    host.transport.stop()
    last = decode(segment.packets[-1])
    assert isinstance(last, Spm)
    assert last.option(OptionType.FIN)
    host.publish(Message(b"2"))
    count = len(segment.packets)
    segment.wait(60.0)
    assert len(segment.packets) == count


def test_packets_hold_the_envelope_of_the_message() -> None:
    """PGM-038, PGM-047, SRMP-023, SRMP-297: only `to` is another one than over HTTP."""
    segment = Segment()
    host = GroupHost(segment)
    host.publish(Message(b"<price/>", label="tick"))
    segment.wait(1.0)
    [packet] = [p for p in map(decode, segment.packets) if isinstance(p, PgmData)]
    assert packet.data.startswith(b"POST 234.1.1.1:8001 HTTP/1.1\r\n")
    assert b"<to>MSMQ:MULTICAST=234.1.1.1:8001</to>" in packet.data
    assert b"<price/>" in packet.data


def test_the_packet_of_a_message_to_a_group_says_so() -> None:
    host = GroupHost(Segment())
    queue = host.open(TICKER, Access.SEND)
    host.transport.withdrawn(queue)
    host.local.dispatcher.pause(queue)
    host.send(queue, Message(b"1"))
    [message] = host.peek(queue)
    assert str(message.destination_queue) == TICKER
    assert str(PacketView(message.packet).destination) == TICKER


def test_all_that_was_sent_is_counted_when_a_session_is_over() -> None:
    segment = Segment(loss=0.2)
    timing = PgmTiming(rate=1_000_000)
    sender, receiver = (GroupHost(segment, timing=timing) for _ in range(2))
    receiver.listen("a")
    segment.wait(0.1)
    for number in range(20):
        sender.publish(Message(bytes(3000), label=f"{number}"))
        segment.wait(0.2)
    segment.wait(400.0)
    assert not list(sender.transport.sources)
    packets = [decode(raw) for raw in segment.packets]
    data = [one for one in packets if isinstance(one, PgmData)]
    repairs = sum(one.is_repair for one in data)
    found = sender.transport.counts
    assert repairs
    assert found["repairs"] == repairs
    assert found["packets"] == len(data) - repairs
    assert found["spms"] == sum(isinstance(one, Spm) for one in packets)
    assert found["ncfs"] == sum(isinstance(one, Ncf) for one in packets)


def test_what_the_system_does_not_take_is_counted_and_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    segment = Segment()
    sender, receiver = GroupHost(segment), GroupHost(segment)
    queue = receiver.listen("a")
    sender.publish(Message(b"0", label="0"))
    segment.wait(1.0)
    refused = 0

    def full(data: bytes, group: IPv4Address, *, is_alert: bool) -> bool:
        nonlocal refused
        refused += 1
        return False

    with monkeypatch.context() as patch:
        patch.setattr(sender, "send_group", full)
        sender.publish(Message(b"1", label="1"))
        segment.wait(0.01)
    assert sender.transport.counts["dropped by the system"] == refused > 0
    sender.publish(Message(b"2", label="2"))
    segment.wait(10.0)
    assert receiver.labels(queue) == ["0", "1", "2"]
