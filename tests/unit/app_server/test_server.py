"""The application server without sockets: sessions are called at their deadlines only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.app_server.machines import Client, Desk
from tests.unit.app_server.programs import bodies, packet

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import decode_error
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_server.context import NEXT_TURN
from openmsmq.errors import ReceiveTimeout


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def send(client: Client, handle: int, *texts: str) -> None:
    client.tell(Kind.SEND, app.Send(handle, 0, tuple(packet(text) for text in texts)).encode())
    [found] = client.wire.frames()
    assert found.kind is Kind.SENT


# Reads that time out


def timed_out(client: Client) -> list[int]:
    """The requests that were answered with ReceiveTimeout."""
    frames = client.wire.frames()
    assert all(type(decode_error(found.payload)) is ReceiveTimeout for found in frames)
    return [found.id for found in frames]


def test_reads_time_out_in_the_order_of_their_deadlines(desk: Desk) -> None:
    client = desk.welcome()
    handle = client.create()
    late, early, endless = (client.read(handle, ms) for ms in (5000, 2000, 0xFFFFFFFF))
    desk.wait(1.9)
    assert timed_out(client) == []
    desk.wait(0.2)
    assert timed_out(client) == [early]
    desk.wait(3.0)
    assert timed_out(client) == [late]
    desk.wait(1e6)
    assert timed_out(client) == []
    assert client.session.next_deadline is None
    assert [*client.session._reads._waiting] == [endless]


def test_the_wire_is_notified_of_earlier_deadlines_only(desk: Desk) -> None:
    client = desk.welcome()
    handle = client.create()
    before = client.wire.updates
    for timeout_ms in (5000, 6000, 7000):
        client.read(handle, timeout_ms)
    assert client.wire.updates == before + 1
    client.read(handle, 1000)
    assert client.wire.updates == before + 2


def test_a_read_that_was_answered_leaves_a_deadline_that_does_nothing(desk: Desk) -> None:
    client, other = desk.welcome(), desk.welcome()
    handle = client.create()
    client.read(handle, 5000)
    deadline = client.session.next_deadline
    send(other, int(other.call("open_queue", name="orders")["handle"]), "a")
    [found] = client.wire.frames()
    assert bodies(found.messages) == ["a"]
    assert client.session.next_deadline == deadline
    desk.wait(10)
    assert client.wire.frames() == []
    assert client.session.next_deadline is None


# Turns


def test_a_stream_goes_on_in_the_next_turn(desk: Desk) -> None:
    client, other = desk.welcome(), desk.welcome()
    handle = client.create()
    send(other, int(other.call("open_queue", name="orders")["handle"]), *map(str, range(100)))
    client.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 100).encode())
    done, first = client.wire.frames()
    assert done.kind is Kind.DONE
    assert len(first.messages) == 64
    assert client.session.next_deadline == NEXT_TURN
    client.session.tick(desk.now)
    [second] = client.wire.frames()
    assert len(second.messages) == 36
    client.session.tick(desk.now)
    assert client.session.next_deadline is None


def test_requests_that_waited_for_credit_go_on_when_a_read_times_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path, requests_max=1)
    client = desk.welcome()
    handle = client.create()
    waiting = client.read(handle, 1000)
    client.tell(Kind.PING, b"later")
    assert client.wire.frames() == []
    assert client.session.is_throttled
    desk.now += 1
    client.session.tick(desk.now)
    error, pong = client.wire.frames()
    assert (error.kind, error.id) == (Kind.ERROR, waiting)
    assert (pong.kind, pong.payload) == (Kind.PONG, b"later")
    assert not client.session.is_throttled


# Connections


def test_the_program_that_owes_its_hello_longest_gives_way(desk: Desk) -> None:
    clients = [desk.welcome(), desk.connect(), desk.connect()]
    assert desk.server.displace()
    assert [client.wire.is_aborted for client in clients] == [False, True, False]
    clients[1].session.lost()
    assert desk.server.clients == 2
    clients[2].session.lost()
    assert not desk.server.displace()


def test_one_that_connects_after_the_end_gets_the_reason(desk: Desk) -> None:
    client = desk.welcome()
    desk.server.close("SIGTERM")
    assert client.closing()["reason"] == "SIGTERM"
    assert desk.connect().closing()["reason"] == "SIGTERM"


def test_beyond_the_limit_programs_are_notified(tmp_path: Path) -> None:
    desk = Desk(tmp_path, clients_max=1)
    desk.welcome()
    assert desk.connect().closing()["reason"] == "too many programs are connected"


def test_what_a_lost_connection_held_is_back_in_the_queue(desk: Desk) -> None:
    client, other = desk.welcome(), desk.welcome()
    handle = client.create()
    theirs = int(other.call("open_queue", name="orders")["handle"])
    send(other, theirs, "a")
    client.read(handle, 0)
    [held] = client.wire.frames()
    assert bodies(held.messages) == ["a"]
    client.session.lost()
    other.read(theirs, 0)
    [found] = other.wire.frames()
    assert bodies(found.messages) == ["a"]
