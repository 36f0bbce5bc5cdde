"""What is known about messages on their way to other computers."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict

import pytest
from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW
from tests.unit.transports.wires import Net, Station, pair

from openmsmq.engine.outgoing.info import (
    NO_PROTOCOL,
    ONLY_A_SERVICE,
    WAS_TAKEN,
    outgoing_info,
    outgoing_infos,
)
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.resend import SCHEDULE
from openmsmq.types.message import Message
from openmsmq.types.outgoing import (
    OFFLINE,
    OutgoingInfo,
)

TO_B = "DIRECT=OS:b\\private$\\q"
NOWHERE = "DIRECT=OS:nowhere\\private$\\q"


def only(manager: Manager) -> OutgoingInfo:
    """The one outgoing queue there is."""
    [found] = outgoing_infos(manager.local)
    return found


def send(net: Net, station: Station, name: str = TO_B, *messages: Message) -> None:
    """Send messages, and let happen what takes no time."""
    queue = station.out(name)
    station.enter(lambda: station.send(queue, *messages or (Message("x"),)))
    net.run()


def send_in(net: Net, station: Station, *messages: Message) -> None:
    """The same in a transaction."""
    queue = station.out(TO_B)
    station.enter(lambda: station.send_in(queue, *messages))
    net.run()


# What is in it


def test_messages_that_wait_are_counted_with_their_size_and_age() -> None:
    manager = Manager()
    queue = manager.open(TO_B)
    manager.send(queue, Message("a"), Message("b", recoverable=False))
    manager.tick(90)
    found = only(manager)
    assert (found.name, found.messages, found.oldest_age) == (TO_B, 2, 90)
    assert (found.unacknowledged, found.unprocessed) == (0, 0)
    assert found.bytes == queue.size + queue.express.size > 0


def test_no_message_is_younger_than_now() -> None:
    manager = Manager()
    queue = manager.open(TO_B)
    manager.send(queue, Message("a"))
    assert only(manager).oldest_age == 0
    assert queue.size == only(manager).bytes


def test_an_empty_queue_is_reported_with_zeros() -> None:
    manager = Manager()
    manager.open(TO_B)
    found = only(manager)
    assert (found.messages, found.bytes, found.oldest_age) == (0, 0, None)


def test_messages_that_were_sent_are_counted_apart_until_they_are_acknowledged() -> None:
    net, a, b = pair(transactional=True)
    b.is_slow = True  # nothing is stored there, so that nothing is acknowledged
    send_in(net, a, Message("x"), Message("y"))
    found = only(a)
    assert (found.messages, found.unacknowledged, found.unprocessed) == (0, 2, 0)
    assert found.bytes > 0
    b.go_on()
    net.wait(30)
    found = only(a)
    assert (found.messages, found.unacknowledged, found.bytes) == (0, 0, 0)


def test_messages_whose_sender_wants_to_know_more_are_kept_until_they_are_received() -> None:
    net, a, b = pair(transactional=True)
    send_in(net, a, Message("x", dead_letter=True))
    net.wait(5)
    found = only(a)
    assert (found.messages, found.unacknowledged, found.unprocessed) == (0, 0, 1)
    assert found.bytes > 0
    assert found.oldest_age is None
    b.enter(lambda: b.receive(b.local.find_queue("q")))
    net.wait(5)
    assert only(a).unprocessed == 0


def test_queues_are_reported_by_name_and_only_outgoing_ones() -> None:
    manager = Manager()
    manager.create("orders")
    for name in (NOWHERE, TO_B):
        manager.open(name)
    assert [found.name for found in outgoing_infos(manager.local)] == [TO_B, NOWHERE]


# The way


def test_a_manager_without_a_service_says_that_it_sends_nothing() -> None:
    manager = Manager()
    manager.send(manager.open(TO_B), Message("x"))
    found = only(manager)
    assert (found.state, found.last_error) == (OFFLINE, ONLY_A_SERVICE)
    assert (found.next_hop, found.next_retry, found.attempts) == ("", None, ())


def test_a_queue_that_nothing_was_sent_to_is_inactive() -> None:
    _, a, _ = pair()
    a.out(TO_B)
    assert (only(a).state, only(a).next_hop, only(a).last_error) == ("inactive", "", "")


def test_a_queue_on_hold_is_on_hold_for_every_sender() -> None:
    net, a, _ = pair()
    queue = a.out(TO_B)
    a.enter(lambda: a.local.dispatcher.pause(queue))
    send(net, a)
    found = only(a)
    assert (found.state, found.messages, found.last_error) == ("on hold", 1, "")
    manager = Manager()
    manager.local.dispatcher.pause(manager.open(TO_B))
    assert only(manager).state == "on hold"


def test_a_manager_that_was_taken_offline_says_so() -> None:
    net, a, _ = pair()
    a.enter(a.local.dispatcher.take_offline)
    send(net, a)
    assert (only(a).state, only(a).last_error) == (OFFLINE, WAS_TAKEN)


def test_a_name_that_no_protocol_reaches_is_reported() -> None:
    net, a, _ = pair()
    send(net, a, "DIRECT=HTTP://b/msmq/private$/q")
    assert (only(a).state, only(a).last_error) == ("need validation", NO_PROTOCOL)


def test_a_connection_is_reported_with_its_address_and_its_beginning() -> None:
    net, a, _ = pair()
    net.wait(40)
    send(net, a)
    found = only(a)
    assert (found.state, found.next_hop) == ("connected", "10.0.0.2:1801")
    assert found.connected_since == NOW + 40
    assert (found.failures, found.next_retry, found.last_error, found.resends) == (0, None, "", 0)
    [attempt] = found.attempts
    assert (attempt.time, attempt.status) == (NOW + 40, "connected")
    assert attempt.address == "10.0.0.2:1801"


def test_a_connection_that_the_other_side_began_has_no_port() -> None:
    """Its own is another every time, and says nothing."""
    net, a, b = pair()
    a.create("back")
    send(net, a)
    queue = f"PRIVATE={a.local.identity}\\{a.local.find_queue('back').number:08x}"
    (end,) = net.between(a, b)
    a.send(a.out(TO_B), Message("x", acknowledge=3, admin_queue=queue))
    end.deliver()
    end.is_held = True  # so that the acknowledgement stays
    net.run()
    assert (only(b).next_hop, only(b).state) == ("10.0.0.1", "connected")


def test_failures_are_reported_with_the_next_attempt_and_the_error_in_words() -> None:
    net, a, b = pair()
    b.die()
    send(net, a)
    found = only(a)
    assert (found.state, found.failures, found.next_retry) == ("waiting", 1, 1)
    assert (found.next_hop, found.last_error) == ("10.0.0.2:1801", "10.0.0.2:1801: no one there")
    net.wait(60)
    found = only(a)
    assert found.failures > 10
    assert found.next_retry is not None
    assert 0 <= found.next_retry <= 5
    assert {attempt.status for attempt in found.attempts} == {"cannot connect"}
    assert found.attempts[-1].time > found.attempts[0].time


def test_an_attempt_under_way_is_the_last() -> None:
    net, a, _ = pair()
    net.is_slow = True
    send(net, a)
    [attempt] = only(a).attempts
    assert (attempt.status, attempt.address) == ("connecting", "10.0.0.2:1801")
    assert only(a).next_hop == "10.0.0.2:1801"


def test_the_name_of_a_computer_is_shown_as_people_write_it() -> None:
    net = Net()
    a = Station(net, "a", peers={})
    send(net, a, NOWHERE)
    assert only(a).next_hop == "nowhere:1801"


def test_a_paused_queue_has_no_next_attempt() -> None:
    net, a, b = pair()
    b.die()
    send(net, a)
    queue = a.out(TO_B)
    a.enter(lambda: a.local.dispatcher.pause(queue))
    assert only(a).next_retry is None


def test_a_queue_that_has_nothing_left_to_send_waits_for_no_one() -> None:
    net, a, b = pair()
    b.die()
    send(net, a, TO_B, Message("x", time_to_reach_queue=2))
    assert only(a).state == "waiting"
    net.wait(30)
    assert (only(a).messages, only(a).state, only(a).next_retry) == (0, "inactive", None)


def test_the_error_is_forgotten_when_the_connection_is_there() -> None:
    net, a, b = pair()
    b.die()
    send(net, a)
    b.restart_here()
    a.enter(lambda: a.local.retry(a.out(TO_B)))
    net.run()
    assert (only(a).state, only(a).last_error, only(a).failures) == ("connected", "", 0)


def test_messages_that_no_one_acknowledges_are_counted_as_sent_again() -> None:
    net, a, b = pair(transactional=True)
    b.is_slow = True
    send_in(net, a, Message("x"))
    [link] = a.transport.links
    _keep_open(link)
    net.wait(SCHEDULE[0] + 1)
    assert only(a).resends == 1


def _keep_open(link: Link) -> None:
    """Let the session itself not mind that it hears nothing."""
    link.session.tick = lambda now: None  # type: ignore[method-assign] # a deaf one


# The value


def test_it_is_a_value_of_one_moment_that_json_can_carry() -> None:
    net, a, _ = pair()
    send(net, a)
    queue = a.out(TO_B)
    found = outgoing_info(a.local, queue)
    assert json.loads(json.dumps(asdict(found)))["attempts"][0]["status"] == "connected"
    assert type(found.state) is str
    with pytest.raises(FrozenInstanceError):
        found.name = "x"  # type: ignore[misc]  # that it is refused is the point
