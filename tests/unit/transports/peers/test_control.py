"""Sessions as administrators see them, in time that passes by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.unit.app_server.test_control_calls import DETAILS, PEER, Peer
from tests.unit.engine.world import HandClock

from openmsmq.transports.peers.control import SessionControl


class Later:
    """What is to be done later."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []

    def __call__(self, seconds: float, call: Callable[[], None]) -> Later:
        self.calls.append(call)
        return self

    def cancel(self) -> None:
        self.calls.clear()


def test_sessions_are_listed_ended_and_forgotten(tmp_path: Path) -> None:
    control, peer = SessionControl(tmp_path, HandClock(), Later()), Peer()
    assert [control.next_number(), control.next_number()] == [1, 2]
    control.add(peer)
    assert control.sessions() == [PEER]
    assert (control.details(3), control.details(4)) == (DETAILS, None)
    assert not control.end_session(4)
    assert control.end_session(3)
    assert peer.is_ended
    control.forget(peer)
    assert control.sessions() == []


def test_a_recording_ends_with_its_time_or_before(tmp_path: Path) -> None:
    clock, later, peer = HandClock(), Later(), Peer()
    control = SessionControl(tmp_path, clock, later)
    control.add(peer)
    control.start_recording(10, "", "me")
    assert peer.is_recorded
    clock.wait(9)
    later.calls.pop()()
    assert peer.is_recorded
    clock.wait(1)
    later.calls.pop()()
    assert (peer.is_recorded, later.calls) == (False, [])
    begun = control.start_recording(10, "", "me")
    control.stop_recording(begun.id)
    assert (peer.is_recorded, later.calls) == (False, [])
    control.start_recording(10, "", "me")
    control.close()
    assert control.recordings.running is None
