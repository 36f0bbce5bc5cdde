"""Time for the lifetimes of messages: the computer's clock without its jumps.

Lifetimes are counted against the clock of the computer, since they go on while no manager runs. But
a clock that is set wrong, or right, must not let a million messages expire, nor let them live an
hour longer. While the manager runs, it knows how much time has really passed; a difference that
no slow correction explains is a jump, and lifetimes go on as if it had not been.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from openmsmq.engine.storage.tables import Snapshot, Table

SHIFT_KEY: Final = b"clock-shift"
JUMP: Final = 5.0
"Seconds of difference between clock and time passed that are a jump."
DRIFT: Final = 0.01
"The share of the time passed by which a clock may go wrong or be corrected."

_shift = Struct("<q")


class Timeline:
    """How lifetimes count: seconds since 1970 as the clock would show without its jumps."""

    __slots__ = ("_wall", "elapsed", "exact", "jumps", "now", "shift", "wall")

    def __init__(self, snapshot: Snapshot) -> None:
        raw = snapshot.get(Table.META, SHIFT_KEY)
        self.shift: int = 0 if raw is None else _shift.unpack(raw)[0]
        "Seconds that the clock is ahead of lifetimes; it lasts as long as the messages."
        self.wall = 0
        "What the clock shows."
        self.now = 0
        "What it would show without jumps; it never goes back, what has expired stays so."
        self.exact = 0.0
        "The same to a part of a second, but for what slow corrections take back."
        self.jumps = 0
        self._wall: float | None = None
        self.elapsed = 0.0
        "When the clock was looked at last, by a count of seconds that never jumps."

    @property
    def millis(self) -> int:
        """Milliseconds since 1970 as lifetimes count them."""
        return int(self.exact * 1000)

    def observe(self, wall: float, elapsed: float) -> bool:
        """What the clock shows now, and a count of seconds that never jumps; True if it jumped."""
        jumped = False
        if self._wall is not None:
            passed = elapsed - self.elapsed
            difference = wall - self._wall - passed
            if abs(difference) > JUMP + DRIFT * passed:
                self.shift += round(difference)
                self.jumps += 1
                jumped = True
        self._wall, self.elapsed = wall, elapsed
        self.wall = int(wall)
        self.now = max(self.now, self.wall - self.shift)
        self.exact = wall - self.shift
        return jumped

    def to_row(self) -> bytes:
        """The bytes to store."""
        return _shift.pack(self.shift)


def expiry(sent: int, lifetime: int | None, never: int) -> int:
    """The last second of a message's life; `never` if it has no end.

    A message lives to the end of its last second, but with no lifetime at all it does not live
    at all ([MS-MQDMPR] 3.1.2.4).
    """
    if lifetime is None:
        return never
    return min(max(sent + lifetime if lifetime else sent - 1, 0), never - 1)
