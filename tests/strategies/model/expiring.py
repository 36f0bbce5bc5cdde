"""Time in the model: lifetimes, which no jump of the clock shortens or prolongs."""

from __future__ import annotations

from tests.strategies.model.commits import Error, Outset
from tests.strategies.model.emptying import Emptying
from tests.strategies.model.outcomes import EXPIRED
from tests.strategies.model.parts import NEVER, Position, Queue

Place = tuple[int, int, int]


class Expiry(Emptying):
    """Messages that do not live for ever."""

    def __init__(self, outset: Outset) -> None:
        super().__init__(outset)
        self.shift = 0
        "Seconds by which jumps have put the clock ahead."
        self.shift_on_disk = 0
        self._is_shift_lost = False
        self.sweeping = False
        self.now = int(outset.wall)

    @property
    def queues(self) -> list[Queue]:
        """All queues whose messages may expire, those that are being emptied too."""
        families = [queue.family for queue in self.named.values()]
        return [member for family in families for member in family] + self.emptying

    # The clock

    def pass_time(self, seconds: float) -> None:
        """Time goes on, or the clock is corrected a little; what has expired stays so."""
        self.wall += seconds
        self.now = max(self.now, int(self.wall) - self.shift)

    def jump(self, seconds: int) -> None:
        """Someone sets the clock: lifetimes go on as if nothing had happened."""
        self.wall += seconds
        self.shift += seconds
        self._write_shift()

    def _write_shift(self) -> None:
        shift = self.shift
        self._is_shift_lost = False

        def finish() -> None:
            self.shift_on_disk = shift

        def fail(error: Error) -> None:
            self._is_shift_lost = True

        self.submit(finish, fail, grows=False)

    def expiry(self, lifetime: int | None) -> int:
        """The last second in the life of a message sent now ([MS-MQDMPR] 3.1.2.4, A-10)."""
        if lifetime is None:
            return NEVER
        return self.now + lifetime if lifetime else self.now - 1

    # The end

    def tick(self, *, sweeps: bool) -> None:
        """The manager was given the time, and said whether it begins to remove what has expired."""
        if self._is_shift_lost:
            self._write_shift()
        overdue = [p for q in self.queues if not q.deleted for p in self._overdue(q)]
        assert sweeps or self.sweeping or not overdue, "messages have expired and stay"
        if not sweeps:
            return
        express = sorted((p for p in overdue if p.express), key=_place)
        for position in express[: self.outset.sweep_step]:
            self.left([position], EXPIRED)
        self.sweeping = True
        self._sweep_step(b"")
        self.wake()

    def _overdue(self, queue: Queue) -> list[Position]:
        """What has expired; messages that are held wait for the outcome (A-34)."""
        return [p for p in queue.positions if p.expires < self.now and p.holder is None]

    def _sweep_step(self, after: bytes) -> None:
        """Time To Be Received Timer Expired ([MS-MQDMPR] 3.1.7.2.7), for some messages."""
        keys: list[bytes] = []
        orphans: list[Position] = []
        now = self.now

        def start() -> None:
            stored = [p for q in self.queues for p in q.positions if not (p.express or p.forgotten)]
            known = {(p.queue.number, p.lookup): p for p in stored}
            rows = self.outset.expiring(after, now)
            due = [known[row.queue, lookup] for row in rows for lookup in row.lookups]
            assert all(p.expires < now for p in due), "messages expire too early"
            keys[:] = [row.key for row in rows]
            orphans[:] = [p for p in due if p.queue.deleted]
            free = [p for p in due if p not in orphans and p.holder is None]
            gone = [p for p in free if p not in self.leaving]
            self.take(gone)
            for queue in dict.fromkeys(p.queue for p in gone):
                self.left([p for p in gone if p.queue is queue], EXPIRED)

        def finish() -> None:
            if len(keys) == self.outset.sweep_step and not self.stopping:
                self._sweep_step(keys[-1])
            else:
                self.sweeping = False
            for position in orphans:
                position.forgotten = True

        def fail(error: Error) -> None:
            self.sweeping = False

        self.submit(finish, fail, start, grows=False)


def _place(position: Position) -> Place:
    """Which expires before which."""
    return position.expires, position.queue.number, position.lookup
