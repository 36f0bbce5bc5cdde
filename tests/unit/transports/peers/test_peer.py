"""Peers: their queues, and when they are dialled again."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.unit.transports.wires import Net, Station, state

from openmsmq.engine.outgoing.limits import ATTEMPTS_MAX
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.names.format import parse_format_name
from openmsmq.transports.limits import RETRY_MAX
from openmsmq.transports.peers.peer import RETRY_MAX_STRANGERS, Peer, PublicQueue, peer_key
from openmsmq.types.outgoing import ConnectionStatus, TransferState

MANAGER = UUID("11111111-2222-4333-8444-555566667777")


@pytest.fixture
def queue() -> ManagedQueue:
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
        (f"PUBLIC={MANAGER}", PublicQueue(MANAGER)),
        ("DIRECT=HTTP://server/msmq/q", None),
        ("MULTICAST=234.1.1.1:8001", None),
    ],
)
def test_the_name_says_which_peer_messages_go_to(name: str, key: object) -> None:
    """MQQB-172, MQQB-247: the directory knows who has a public queue, and HTTP is no session."""
    assert peer_key(parse_format_name(name)) == key


def test_a_computer_in_any_spelling_is_one_peer() -> None:
    keys = {peer_key(parse_format_name(rf"DIRECT=OS:{host}\q")) for host in ("b", "B")}
    assert len(keys) == 1


def test_attempts_come_later_and_later_but_not_later_than_5_seconds(queue: ManagedQueue) -> None:
    """MQQB-346."""
    peer = Peer[str]("b")
    peer.queues[queue] = None
    delays = []
    for _ in range(7):
        delays.append(peer.delay)
        peer.failures += 1
    assert delays == [0.25, 0.5, 1, 2, 4, 5, 5]
    peer.failures = 10_000
    assert peer.delay == RETRY_MAX


@pytest.mark.parametrize("purpose", list(Purpose))
def test_attempts_for_the_sake_of_strangers_alone_become_rare(
    queue: ManagedQueue, purpose: Purpose
) -> None:
    """A packet can name any computer in the world as the one to be dialled."""
    peer = Peer[str]("b")
    queue.properties = replace(queue.properties, purpose=purpose)
    peer.queues[queue] = None
    peer.failures = 10_000
    is_bounded = purpose in (Purpose.ANSWER, Purpose.UNSOLICITED)
    assert peer.delay == (RETRY_MAX_STRANGERS if is_bounded else RETRY_MAX)
    assert (RETRY_MAX, RETRY_MAX_STRANGERS) == (5, 600)


def test_all_queues_of_a_peer_change_their_state(queue: ManagedQueue) -> None:
    peer = Peer[str]("b")
    peer.queues[queue] = None
    peer.set_state(TransferState.WAITING)
    assert state(queue) is TransferState.WAITING


def test_a_queue_on_hold_stays_so(queue: ManagedQueue) -> None:
    """MQQB-180, MQQB-345."""
    peer = Peer[str]("b")
    peer.queues[queue] = None
    assert queue.transfer is not None
    queue.transfer.pause()
    peer.set_state(TransferState.CONNECTED)
    assert state(queue) is TransferState.ON_HOLD


def test_an_attempt_is_remembered_with_status_time_error_and_address(queue: ManagedQueue) -> None:
    """MQQB-182, DMPR-048, DMPR-049: not more than the last few."""
    peer = Peer[str]("b")
    peer.queues[queue] = None
    assert queue.transfer is not None
    for time in range(ATTEMPTS_MAX + 1):
        peer.note(ConnectionStatus.SOCKET_CONNECT_FAILURE, time, "10.0.0.2:1801", 0xC00E0001)
    attempts = list(queue.transfer.attempts)
    assert len(attempts) == ATTEMPTS_MAX
    status = ConnectionStatus.SOCKET_CONNECT_FAILURE
    assert attempts[-1] == Attempt(status, ATTEMPTS_MAX, 0xC00E0001, ("10.0.0.2:1801",))


def test_a_peer_has_a_name_for_people() -> None:
    assert Peer[str]("SERVER").name == "SERVER"
    assert Peer[str](MANAGER).name == str(MANAGER)
    assert Peer[str](MANAGER).id == MANAGER
    assert Peer[str]("SERVER").id is None


def test_an_idle_queue_is_forgotten_unless_a_link_carries_it(queue: ManagedQueue) -> None:
    """A link may have sent messages of it that are gone: when it ends, the queue must know."""
    peer = Peer[str]("b")
    peer.queues[queue] = "link"
    peer.forget_idle(())
    assert peer.carried_by("link") == [queue]
    assert not peer.wants_link(())
    peer.queues[queue] = None
    peer.forget_idle(())
    assert peer.queues == {}


def test_a_peer_that_must_be_identified_is_dialled_although_nothing_is_sent(
    queue: ManagedQueue,
) -> None:
    peer = Peer[str]("b")
    peer.queues[queue] = None
    peer.forget_idle([queue])
    assert peer.wants_link([queue])
    assert peer.carried_by("link") == []


def test_a_peer_is_idle_until_it_is_dialled_or_connected() -> None:
    peer = Peer[str]("b")
    assert peer.is_idle
    peer.is_connecting = True
    assert not peer.is_idle
    peer.is_connecting, peer.link = False, "link"
    assert not peer.is_idle
