"""Where other managers are, and when they are tried again."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.unit.transports.wires import Net, Station, state

from openmsmq.engine.arrivals.peers import Peer
from openmsmq.engine.outgoing.state import ATTEMPTS_MAX, Attempt, has_way
from openmsmq.engine.queues.queue import Purpose, Queue
from openmsmq.names.format import parse_format_name
from openmsmq.transports.peers.ways import (
    PORT,
    RETRY_MAX,
    RETRY_MAX_STRANGERS,
    Addresses,
    Way,
    address_text,
    way_key,
)
from openmsmq.types.outgoing import ConnectionStatus, TransferState

MANAGER = UUID("11111111-2222-4333-8444-555566667777")


@pytest.fixture
def queue() -> Queue:
    """An outgoing queue."""
    return Station(Net(), "a").open(r"DIRECT=OS:b\private$\q")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (r"DIRECT=OS:Server\private$\q", "SERVER"),
        (r"DIRECT=TCP:10.0.0.2\q", "10.0.0.2"),
        (r"DIRECT=TCP:::1\private$\q", "::1"),
        (f"PRIVATE={MANAGER}\\0000000c", MANAGER),
        (f"MACHINE={MANAGER};JOURNAL", MANAGER),
        (f"CONNECTOR={MANAGER}", MANAGER),
        (f"PUBLIC={MANAGER}", None),
        ("DIRECT=HTTP://server/msmq/q", None),
        ("MULTICAST=234.1.1.1:8001", None),
    ],
)
def test_the_name_says_which_way_messages_go(name: str, key: str | UUID | None) -> None:
    """MQQB-172: there is no directory that knows public queues, and HTTP is no session."""
    assert way_key(parse_format_name(name)) == key
    assert has_way(parse_format_name(name)) is (key is not None)


def test_a_computer_in_any_spelling_is_one_way() -> None:
    keys = {way_key(parse_format_name(rf"DIRECT=OS:{host}\q")) for host in ("b", "B")}
    assert len(keys) == 1


def test_attempts_come_later_and_later_but_not_later_than_5_seconds(queue: Queue) -> None:
    """MQQB-346."""
    way = Way("b")
    way.queues.add(queue)
    delays = []
    for _ in range(7):
        delays.append(way.delay)
        way.failures += 1
    assert delays == [0.25, 0.5, 1, 2, 4, 5, 5]
    way.failures = 10_000
    assert way.delay == RETRY_MAX


@pytest.mark.parametrize("purpose", list(Purpose))
def test_attempts_for_the_sake_of_strangers_alone_become_rare(
    queue: Queue, purpose: Purpose
) -> None:
    """A packet can name any computer in the world as the one to be dialled."""
    way = Way("b")
    queue.properties = replace(queue.properties, purpose=purpose)
    way.queues.add(queue)
    way.failures = 10_000
    is_bounded = purpose in (Purpose.ANSWER, Purpose.UNSOLICITED)
    assert way.delay == (RETRY_MAX_STRANGERS if is_bounded else RETRY_MAX)
    assert (RETRY_MAX, RETRY_MAX_STRANGERS) == (5, 600)


def test_all_queues_of_a_way_change_their_state(queue: Queue) -> None:
    way = Way("b")
    way.queues.add(queue)
    way.became(TransferState.WAITING)
    assert state(queue) is TransferState.WAITING


def test_a_queue_on_hold_stays_so(queue: Queue) -> None:
    """MQQB-180, MQQB-345."""
    way = Way("b")
    way.queues.add(queue)
    assert queue.transfer is not None
    queue.transfer.pause()
    way.became(TransferState.CONNECTED)
    assert state(queue) is TransferState.ON_HOLD


def test_an_attempt_is_remembered_with_status_time_error_and_address(queue: Queue) -> None:
    """MQQB-182: not more than the last few."""
    way = Way("b")
    way.queues.add(queue)
    assert queue.transfer is not None
    for time in range(ATTEMPTS_MAX + 1):
        way.note(ConnectionStatus.SOCKET_CONNECT_FAILURE, time, "10.0.0.2:1801", 0xC00E0001)
    attempts = list(queue.transfer.attempts)
    assert len(attempts) == ATTEMPTS_MAX
    status = ConnectionStatus.SOCKET_CONNECT_FAILURE
    assert attempts[-1] == Attempt(status, ATTEMPTS_MAX, 0xC00E0001, ("10.0.0.2:1801",))


def test_next_hops_are_addresses_of_either_kind(queue: Queue) -> None:
    """MQQB-174: a name is none before DNS has told."""
    way = Way("b")
    way.queues.add(queue)
    way.lead_to(["10.0.0.2", "server", "2001:DB8::1"])
    assert queue.transfer is not None
    assert queue.transfer.next_hops == ("IP=10.0.0.2", "IPv6=2001:db8::1")


def test_a_way_has_a_name_for_people() -> None:
    assert Way("SERVER").name == "SERVER"
    assert Way(MANAGER).name == str(MANAGER)
    assert Way(MANAGER).peer == MANAGER
    assert Way("SERVER").peer is None


def test_a_computer_is_where_somebody_said_or_else_dns_knows() -> None:
    """MQQB-002, MQQB-173."""
    addresses = Addresses({"Server": ("10.0.0.2", 999)})
    assert addresses.of_host("SERVER") == [("10.0.0.2", 999)]
    assert addresses.of_host("OTHER") == [("OTHER", PORT)]
    assert PORT == 1801


def test_a_manager_is_where_it_was_or_where_it_came_from() -> None:
    """MQQB-173: each place once, the likeliest first."""
    addresses = Addresses({"server": ("10.0.0.2", 999), "by name": ("server.example", 5)})
    assert addresses.of_manager(None, []) == []
    assert addresses.of_manager(None, ["10.0.0.2"]) == [("10.0.0.2", 999), ("10.0.0.2", PORT)]
    known = Peer(MANAGER, ("OTHER", "SERVER"), "10.0.0.3", 7)
    found = addresses.of_manager(known, ["10.0.0.9"])
    assert found == [("10.0.0.3", 7), ("10.0.0.2", 999), ("OTHER", PORT)]
    assert addresses.of_manager(Peer(MANAGER, (), "10.0.0.3", 7), ["10.0.0.9"]) == [("10.0.0.3", 7)]


def test_an_address_in_any_spelling_is_the_same() -> None:
    addresses = Addresses({"server": ("0:0::1", 999)})
    assert addresses.of_manager(None, ["::1"]) == [("0:0::1", 999), ("::1", PORT)]


def test_addresses_are_shown_so_that_the_port_can_be_told() -> None:
    assert address_text("10.0.0.2", 1801) == "10.0.0.2:1801"
    assert address_text("::1", 1801) == "[::1]:1801"
