"""What a transport needs of the time, and what gives it."""

from __future__ import annotations

import asyncio

from tests.simulation.events import Event
from tests.simulation.network import NodeNetwork

from openmsmq.transports.mqqb.listener import BinaryListener
from openmsmq.transports.timer import Timer, Timers


def accepted(timer: type[Timer], timers: type[Timers]) -> None:
    """Only for the type checker, which says whether these are what is needed."""


accepted(asyncio.TimerHandle, BinaryListener)
accepted(Event, NodeNetwork)


def test_event_loop_and_simulation_can_be_asked_for_a_call_later() -> None:
    assert all(hasattr(one, "call_later") for one in (BinaryListener, NodeNetwork))
    assert all(hasattr(one, "cancel") for one in (asyncio.TimerHandle, Event))
