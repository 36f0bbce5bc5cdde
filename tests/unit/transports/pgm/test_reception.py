"""Queues with a group address."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest
from tests.unit.transports.pgm.group import GroupHost, Segment

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.errors import IllegalPropertyValue
from openmsmq.properties.message import MessageClass
from openmsmq.transports.pgm.messages import pack_message
from openmsmq.transports.pgm.packets import PgmData, Spm, Tsi, decode
from openmsmq.types.access import Access
from openmsmq.types.message import Message

GROUP, PORT = IPv4Address("234.1.1.1"), 8001
STRANGER = IPv4Address("10.0.0.99")


def inject(host: GroupHost, *contents: bytes, content_type: str = "text/xml") -> None:
    """Have a stranger send messages to the group."""
    tsi = Tsi(b"forger", 7)
    host.reception.receive(Spm(tsi, PORT, (), 1, 1, 0, STRANGER), STRANGER, GROUP)
    for number, content in enumerate(contents, 1):
        message = pack_message(GROUP, PORT, content_type, content)
        packet = PgmData(tsi, PORT, (), number, 1, message)
        host.reception.receive(packet, STRANGER, GROUP)
    host.enter(lambda: None)


def test_groups_are_joined_and_left_with_their_queues() -> None:
    """PGM-056, PGM-134."""
    host = GroupHost(Segment())
    first, second = host.listen("a"), host.listen("b")
    assert host.groups == [GROUP]
    third = host.listen("c", "")
    host.done(host.local.change_queue(third, multicast="239.0.0.1:1"))
    assert host.groups == [GROUP, IPv4Address("239.0.0.1")]
    host.done(host.local.change_queue(third, multicast=""))
    host.done(host.local.delete_queue("a"))
    assert host.groups == [GROUP]
    host.done(host.local.change_queue(second, multicast="239.0.0.1:1"))
    assert host.groups == [IPv4Address("239.0.0.1")]
    assert first.deleted


@pytest.mark.parametrize("address", ["10.0.0.1:1", "234.1.1.1", "234.1.1.1:99999", "x:1"])
def test_only_a_group_address_is_taken(address: str) -> None:
    host = GroupHost(Segment())
    with pytest.raises(IllegalPropertyValue, match=r"such as 234\.1\.1\.1:8001"):
        host.listen("a", address)


def test_a_transactional_queue_has_none() -> None:
    """PGM-058."""
    host = GroupHost(Segment())
    with pytest.raises(IllegalPropertyValue, match="transactional"):
        host.listen("a", transactional=True)


def test_a_queue_that_refuses_stops_no_other() -> None:
    """PGM-057, PGM-130: access is checked as for everyone."""
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    small, closed, open_to_all = host.listen("a", quota=1), host.listen("b"), host.listen("c")
    host.done(host.local.set_permissions(closed, "O:BAG:BAD:(A;;CCDCLCSWRPWPRC;;;BA)"))
    sender.publish(Message(bytes(4000), label="tick"))
    segment.wait(1.0)
    assert not host.labels(small)
    assert not host.labels(closed)
    assert host.labels(open_to_all) == ["tick"]
    assert host.reception.counts["refused"] == 2
    assert host.reception.counts["stored"] == 1


def test_a_manager_that_is_offline_takes_nothing_from_a_group() -> None:
    """SYS-043."""
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    queue = host.listen("a")
    host.enter(host.local.dispatcher.take_offline)
    sender.publish(Message(b"x", label="tick"))
    segment.wait(1.0)
    assert not host.labels(queue)
    assert host.reception.counts["offline"]
    assert not host.reception.counts["stored"]


def test_explain_says_from_where_a_message_came() -> None:
    """PGM-123."""
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    queue = host.listen("a")
    [sent] = sender.publish(Message(b"1"))
    segment.wait(1.0)
    events = host.local.explain(sent)
    assert "multicast 234.1.1.1:8001 from 10.0.0.1" in " ".join(map(str, events))
    [message] = host.peek(queue)
    assert str(message.destination_queue) == r"DIRECT=OS:host2\private$\a"


def test_a_message_comes_once_though_two_sessions_bring_it() -> None:
    """PGM-099: duplicates across sessions are known by the identifier of the message."""
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    queue = host.listen("a")
    sender.publish(Message(b"1", label="once"))
    segment.wait(1.0)
    [data] = [p for p in segment.packets if b"POST " in p]
    packet = decode(data)
    again = replace(packet, tsi=Tsi(b"others", 7))
    host.reception.receive(again, sender.interface, GROUP)
    host.enter(lambda: None)
    assert host.labels(queue) == ["once"]


def test_what_is_no_message_for_the_address_is_dropped() -> None:
    """PGM-051, PGM-133, SRMP-165: and the next one is taken."""
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    queue = host.listen("a")
    other = GroupHost(segment)
    other.publish(Message(b"1", label="elsewhere"), to="MULTICAST=234.1.1.2:8001")
    segment.wait(1.0)
    [foreign] = [p for p in segment.packets if b"POST " in p]
    content = foreign.partition(b"\r\n\r\n")[2]
    content_type = foreign.partition(b"Content-Type: ")[2].partition(b"\r\n")[0].decode()
    inject(host, content, content_type=content_type)
    assert host.reception.counts["not for this address"] == 1
    inject(host, b"<xml", b"\xff" * 100, b"")
    sender.publish(Message(b"2", label="good"))
    segment.wait(1.0)
    assert host.labels(queue) == ["good"]


def test_malformed_envelopes_are_counted() -> None:
    """PGM-133."""
    host = GroupHost(Segment())
    host.listen("a")
    inject(host, b"<xml", b"\xff" * 100)
    assert host.reception.counts["malformed"] == 2


def test_other_receivers_hear_what_a_source_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They need not ask for it, too ([MC-MQSRM] note 3)."""
    segment = Segment()
    host = GroupHost(segment)
    host.listen("a")
    asked: list[tuple[str, IPv4Address, bytes]] = []
    monkeypatch.setattr(host, "send_to", lambda data, to: asked.append(("source", to, data)))
    monkeypatch.setattr(host, "send_near", lambda data, to: asked.append(("group", to, data)))
    tsi = Tsi(b"forger", 7)
    host.reception.receive(Spm(tsi, PORT, (), 1, 1, 0, STRANGER), STRANGER, GROUP)
    for number in (1, 3):
        host.reception.receive(PgmData(tsi, PORT, (), number, 1, b"x"), STRANGER, GROUP)
    segment.wait(1.0)
    (to_source, to_group) = asked[:2]
    assert to_source[:2] == ("source", STRANGER)
    assert to_group == ("group", GROUP, to_source[2])


def test_packets_for_another_port_of_the_group_are_ignored() -> None:
    """PGM-059."""
    host = GroupHost(Segment())
    host.listen("a")
    host.reception.receive(PgmData(Tsi(b"source", 1), 9, (), 1, 1, b""), STRANGER, GROUP)
    assert host.reception.counts["other port"] == 1


def test_express_messages_are_not_written() -> None:
    segment = Segment()
    sender, host = GroupHost(segment), GroupHost(segment)
    queue = host.listen("a")
    sender.publish(Message(b"1", label="express", recoverable=False))
    segment.wait(1.0)
    assert host.labels(queue) == ["express"]
    assert not queue.messages


def test_a_stop_leaves_all_groups() -> None:
    host = GroupHost(Segment())
    host.listen("a")
    host.reception.stop()
    assert not host.groups


def test_a_group_as_the_destination_of_a_binary_message_is_refused() -> None:
    """No queue of this manager is meant by it, from any sender."""
    segment = Segment()
    host = GroupHost(segment)
    queue = host.listen("a")
    outgoing = host.open("MULTICAST=234.1.1.1:8001", Access.SEND)
    host.local.dispatcher.pause(outgoing)
    host.send(outgoing, Message(b"1", recoverable=False))
    [message] = host.peek(outgoing)
    outcome = host.local.arrivals.take_express(Origin("10.0.0.9", "a stranger"), [message.packet])
    host.enter(lambda: None)
    assert outcome.rejected == [(message.packet, MessageClass.NACK_BAD_DST_Q)]
    assert not host.labels(queue)


@pytest.mark.parametrize("policy", [{"authenticate": True}, {"privacy": 2}], ids=str)
def test_the_demands_of_a_queue_hold_for_multicast(policy: dict[str, Any]) -> None:
    """MSEC-083: neither an unsigned message nor one in clear text is put there."""
    segment = Segment()
    sender, receiver = GroupHost(segment), GroupHost(segment)
    strict, open_ = receiver.listen("strict"), receiver.listen("open")
    strict.properties = replace(strict.properties, **policy)
    sender.publish(Message(b"1", label="one"))
    segment.wait(1.0)
    assert (receiver.labels(strict), receiver.labels(open_)) == ([], ["one"])
