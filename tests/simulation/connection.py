"""One side of a connection in virtual time: what all fake networks of the tests have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

from openmsmq.net.wire import Machine, Wire
from tests.simulation.events import Event, Scheduler

Enter = Callable[[Callable[[], object]], None]
"Calls something in the process that a machine is part of, if that still runs."


class Side:
    """A wire (`openmsmq.net.wire.Wire`) whose `other` side is one, too."""

    def __init__(
        self, scheduler: Scheduler, address: str, enter: Enter, now: Callable[[], float]
    ) -> None:
        """`enter` calls the machine; `now` is its clock."""
        self.address = address
        self.machine: Machine | None = None
        self.other: Self
        self.is_closing = False
        self.is_over = False
        "The machine knows that the connection is closed."
        self.enter = enter
        self._scheduler = scheduler
        self._now = now
        self._timer: Event | None = None
        self._timer_at = 0.0
        "Its deadline, in the machine's time."

    def join(self, other: Self) -> None:
        """The two are the sides of one connection."""
        self.other, other.other = other, self

    def begin(self, make: Callable[[Self], Machine]) -> None:
        """The connection is established: `make` gives the machine on this side."""

        def made() -> None:
            self.machine = make(self)

        self.enter(made)
        self.update()

    def check_write(self) -> None:
        """Nothing may be written once the machine has closed the connection."""
        assert not self.is_closing, "written to a connection after it was closed"

    def receive(self, data: bytes) -> None:
        """Let the machine have bytes."""
        machine = self.machine
        assert machine is not None
        self.enter(lambda: machine.receive_data(data, self._now()))
        self.update()

    def resume(self) -> None:
        """The write buffer has room again."""
        machine = self.machine
        if machine is not None and not self.is_over:
            self.enter(lambda: machine.resume(self._now()))
            self.update()

    def end(self) -> None:
        """The connection is closed, and the machine learns it."""
        if not self.is_over:
            self.is_over = True
            if self._timer is not None:
                self._timer.cancel()
            if self.machine is not None:
                self.enter(self.machine.lost)

    def update(self) -> None:
        """Set the timer for the machine's next deadline, if that is earlier than it was."""
        if self.machine is None or self.is_over:
            return
        deadline = self.machine.next_deadline
        if deadline is None:
            return
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._scheduler.after(deadline - self._now(), self._tick)

    def _tick(self) -> None:
        self._timer = None
        machine, now = self.machine, max(self._timer_at, self._now())
        if machine is not None and not self.is_over:
            self.enter(lambda: machine.tick(now))
            self.update()


class Program(Protocol):
    """What connects to a manager, again and again."""

    wire: Wire | None
    is_full: bool

    def receive_data(self, data: bytes) -> None:
        """Take frames of the server."""
        ...

    def lost(self) -> None:
        """The connection is closed."""
        ...


class ProgramConnection:
    """One connection of a program (`openmsmq.net.wire.Machine`).

    What comes of it after the program has closed it is not for the next one.
    """

    next_deadline = None

    def __init__(self, program: Program, wire: Wire) -> None:
        self._program = program
        self._wire = wire

    @property
    def _is_current(self) -> bool:
        return self._program.wire is self._wire

    @property
    def is_full(self) -> bool:
        """The program does not read."""
        return self._is_current and self._program.is_full

    def receive_data(self, data: bytes, now: float) -> None:
        """Take frames of the server."""
        if self._is_current:
            self._program.receive_data(data)

    def resume(self, now: float) -> None:
        """Nothing: a program writes whatever it wants to."""

    def tick(self, now: float) -> None:
        """Nothing: it has no deadlines."""

    def lost(self) -> None:
        """The connection is closed."""
        if self._is_current:
            self._program.lost()
