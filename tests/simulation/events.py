"""Virtual time: what happens when, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Event:
    """Something that will be done, unless it is cancelled."""

    __slots__ = ("at", "call")

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """It will not be done."""
        self.call = None


class Scheduler:
    """All that is to be done, by time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Event]] = []
        "By time, and of one time in the order in which they were asked for."
        self._order = count()

    def after(self, seconds: float, call: Callable[[], None]) -> Event:
        """Have something done later."""
        at = self.now + seconds if seconds > 0.0 else self.now
        event = Event(at, call)
        heappush(self._events, (at, next(self._order), event))
        return event

    @property
    def waiting(self) -> list[Event]:
        """What is to be done, the earliest first."""
        return [event for _, _, event in sorted(self._events) if event.call is not None]

    def step(self, until: float) -> bool:
        """Do the next thing, if its time comes until then; whether there was one."""
        events = self._events
        while events and events[0][0] <= until:
            at, _, event = heappop(events)
            if at > self.now:
                self.now = at
            if event.call is not None:
                event.call()
                return True
        return False

    def run(self, until: float, events_max: int) -> int:
        """Let time pass; how many things were done."""
        done = 0
        while self.step(until):
            done += 1
            assert done < events_max, f"more than {events_max} events: something goes in circles"
        self.now = until
        return done
