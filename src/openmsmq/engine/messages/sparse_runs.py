"""Runs with few messages left: after a while these get rows of their own, and the blob goes.

Else one message that is never read would keep the room of a thousand.
"""

from __future__ import annotations

from math import inf
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.messages.limits import SPARSE_RUNS_MAX
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.runs import MessageRun, find_run
from openmsmq.engine.storage.tables import Snapshot, Table

PATIENCE: Final = 60
"Seconds after which a run is taken apart: most are read to their end before."
STEP: Final = 8
"Runs that are taken apart with one commit."


class SparseRuns:
    """Takes runs apart that have few messages left."""

    def __init__(self, state: EngineState, queues: Queues) -> None:
        self._state = state
        self._queues = queues
        self._is_sweeping = False
        self._due: dict[tuple[int, int], int] = {}
        "When each is taken apart, by queue and first lookup identifier, the next one first."
        self.next = inf
        "When the next run is taken apart, in seconds as lifetimes count them; not during a sweep."
        self.watch(_sparse(state.snapshot))

    def watch(self, runs: list[MessageRun]) -> None:
        """These runs have few messages left."""
        due = self._state.timeline.now + PATIENCE
        for run in runs:
            if len(self._due) < SPARSE_RUNS_MAX:
                self._due.setdefault((run.queue, run.first), due)
        if not self._is_sweeping:
            self.next = next(iter(self._due.values()), inf)
            self._state.reschedule()

    def sweep(self) -> None:
        """Take runs apart whose time has come."""
        now = self._state.timeline.now
        places = [place for place, due in self._due.items() if due <= now][:STEP]
        for place in places:
            del self._due[place]
        self._is_sweeping, self.next = True, inf
        later: list[MessageRun] = []

        def apply(batch: Batch) -> None:
            later[:] = [
                run
                for number, first in places
                if (run := find_run(batch.writer, number, first)) is not None
                and not self._take_apart(batch, run)
            ]

        def committed() -> None:
            self._is_sweeping = False
            self.watch(later)

        def failed(error: BaseException) -> None:
            self._is_sweeping = False
            due = self._state.timeline.now + PATIENCE
            self._due.update(dict.fromkeys(places, due))
            self.watch([])

        self._state.submit(apply, committed, failed, grows=True)

    def _take_apart(self, batch: Batch, run: MessageRun) -> bool:
        """Give each message that is left a row of its own; not while some are held or purged."""
        queue = self._queues.get(run.queue)
        members = list(run.members(0))
        if (
            queue is None
            or queue.has_purged
            or any(queue.holds.is_held(lookup) for lookup, _, _ in members)
        ):
            return False
        for lookup, raw, _ in members:
            batch.explode(queue, lookup, raw)
        return True


def _sparse(snapshot: Snapshot) -> list[MessageRun]:
    """The runs of a store with few messages left."""
    rows = snapshot.scan(Table.RUNS, b"", b"\xff" * 12)
    return [run for key, row in rows if (run := MessageRun.unpack(key, row)).is_sparse]
