"""What a transport needs of the time, and what gives it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.simulation.events import Event
from tests.simulation.network import NodeNetwork
from tests.unit.engine.world import HandClock

from openmsmq.transports.mqqb.listener import BinaryListener
from openmsmq.transports.timer import Alarm, Timer, Timers


def accepted(timer: type[Timer], timers: type[Timers]) -> None:
    """Only for the type checker, which says whether these are what is needed."""


accepted(asyncio.TimerHandle, BinaryListener)
accepted(Event, NodeNetwork)


def test_event_loop_and_simulation_can_be_asked_for_a_call_later() -> None:
    assert all(hasattr(one, "call_later") for one in (BinaryListener, NodeNetwork))
    assert all(hasattr(one, "cancel") for one in (asyncio.TimerHandle, Event))


class Call:
    """A call that was asked for."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds = seconds
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        assert not self.is_cancelled, "once is enough"
        self.is_cancelled = True


class Calls(list[Call]):
    """All calls that were asked for."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> Call:
        self.append(Call(seconds, call))
        return self[-1]


def test_an_alarm_has_one_time_and_rings_once() -> None:
    calls, rung = Calls(), list[int]()
    clock = HandClock()
    clock.wait(100)
    alarm = Alarm(calls, clock, lambda: rung.append(1))
    now = clock.elapsed()
    alarm.set(now + 5)
    alarm.set(now - 1)  # is due already
    assert [(call.seconds, call.is_cancelled) for call in calls] == [(5, True), (0, False)]
    calls[1].call()
    assert rung == [1]
    alarm.cancel()
    assert not calls[1].is_cancelled, "it is over"
    alarm.set(now + 2)
    alarm.set(None)
    alarm.cancel()
    assert [call.is_cancelled for call in calls] == [True, False, True]
