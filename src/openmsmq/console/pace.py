"""How many messages a search looks at before others have their turn: by time, not by number.

A console may share the event loop with its manager: while a search tests messages, no send is
answered. Small ones go by the dozen in the time that one with a long body takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from openmsmq.console.limits import SCAN_BATCH, TURN_BYTES
from openmsmq.runtime.turns import next_count
from openmsmq.types.received import ReceivedMessage

FIRST: Final = 10
"Messages of the first turn, before it is known what they cost."


class Pace:
    """The number of messages in the next turn of one search."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        """`clock` counts seconds of the processor that this thread has taken."""
        self.size = FIRST
        self._clock = clock

    @contextmanager
    def turn(self, batch: Sequence[ReceivedMessage]) -> Iterator[None]:
        """Learn from what is done with some messages what the next ones will cost."""
        began = self._clock()
        yield
        took, count = self._clock() - began, len(batch)
        self.size = next_count(self.size, count, took, SCAN_BATCH)
        if carried := sum(len(one.packet) for one in batch):
            self.size = min(self.size, max(1, TURN_BYTES * count // carried))
