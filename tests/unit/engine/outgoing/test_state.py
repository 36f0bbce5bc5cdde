"""What an outgoing queue knows of the way to its destination."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import NOW

from openmsmq.engine.outgoing.limits import ATTEMPTS_MAX
from openmsmq.engine.outgoing.state import Attempt, Transfer
from openmsmq.names.base import FormatName
from openmsmq.names.format import parse_format_name
from openmsmq.types.outgoing import ConnectionStatus, TransferState

OS = parse_format_name("DIRECT=OS:there\\q")
HTTP = parse_format_name("DIRECT=HTTP://there/msmq/q")
MULTICAST = parse_format_name("MULTICAST=234.1.1.1:8001")


def test_a_new_way_is_inactive_and_leads_nowhere_yet() -> None:
    """DMPR-161."""
    made = Transfer.to(OS, hardened=False)
    assert (made.state, made.next_hops, list(made.attempts)) == (TransferState.INACTIVE, (), [])
    assert made.is_open


@pytest.mark.parametrize(
    ("name", "http", "multicast"),
    [(OS, False, False), (HTTP, True, False), (MULTICAST, False, True)],
    ids=["os", "http", "multicast"],
)
def test_the_destination_says_how_it_is_reached(
    name: FormatName, http: bool, multicast: bool
) -> None:
    made = Transfer.to(name, hardened=False)
    assert (made.is_http, made.is_multicast) == (http, multicast)


def test_in_hardened_mode_only_http_is_open() -> None:
    locked = Transfer.to(OS, hardened=True)
    assert (locked.state, locked.is_open) == (TransferState.LOCKED, False)
    locked.set_state(TransferState.CONNECTED)
    locked.pause()
    locked.resume()
    assert locked.state is TransferState.LOCKED
    assert Transfer.to(HTTP, hardened=True).is_open


def test_a_queue_is_in_one_of_eight_states() -> None:
    """DMPR-047."""
    made = Transfer.to(OS, hardened=False)
    assert len(TransferState) == 8
    for state in TransferState:
        made.set_state(state)
        assert made.state is state
        made.state = TransferState.INACTIVE


def test_a_pause_holds_until_it_is_ended() -> None:
    """DMPR-316."""
    made = Transfer.to(OS, hardened=False)
    made.set_state(TransferState.CONNECTED)
    made.pause()
    assert (made.state, made.is_open) == (TransferState.ON_HOLD, False)
    made.set_state(TransferState.CONNECTED)
    assert made.state is TransferState.ON_HOLD
    made.resume()
    assert (made.state, made.is_open) == (TransferState.INACTIVE, True)


def test_what_is_not_paused_is_not_resumed() -> None:
    made = Transfer.to(OS, hardened=False)
    made.set_state(TransferState.WAITING)
    made.resume()
    assert made.state is TransferState.WAITING


def test_the_last_attempts_are_remembered() -> None:
    made = Transfer.to(OS, hardened=False)
    for number in range(ATTEMPTS_MAX + 5):
        made.attempts.append(Attempt(ConnectionStatus.ESTABLISHED, NOW + number, 0, ("a",)))
    times = [attempt.time for attempt in made.attempts]
    assert times == list(range(NOW + 5, NOW + ATTEMPTS_MAX + 5))
