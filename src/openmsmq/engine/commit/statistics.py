"""What happened how often, since the store was made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Final

from openmsmq.engine.storage.tables import Snapshot, Table

STATISTICS_KEY: Final = b"statistics"


class Statistics:
    """Counters by name; they last, and every discarded message is in one of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        raw = snapshot.get(Table.META, STATISTICS_KEY)
        self._committed: dict[str, int] = json.loads(raw) if raw else {}
        self._total = self._committed
        "What they are when the commit under way is on disk."
        self._pending: Counter[str] = Counter()
        "What no commit has written yet."
        self._writing: dict[str, int] = {}
        "Of these, what the commit under way writes."

    @property
    def counts(self) -> dict[str, int]:
        """The counters, by name."""
        return dict(sorted((Counter(self._committed) + self._pending).items()))

    def count(self, what: str, times: int = 1) -> None:
        """Something happened that no commit is about."""
        self._pending[what] += times

    def rows(self, more: Mapping[str, int]) -> list[tuple[bytes, bytes]]:
        """The counters as they are with a commit, if any has changed."""
        self._writing, self._total = dict(self._pending), self._committed
        if not (self._writing or more):
            return []
        self._total = total = dict(self._committed)
        for counts in (self._writing, more):
            for what, times in counts.items():
                total[what] = total.get(what, 0) + times
        return [(STATISTICS_KEY, json.dumps(total).encode())]

    def committed(self) -> None:
        """That commit is on disk."""
        self._committed = self._total
        if self._writing:
            self._pending.subtract(self._writing)
            self._pending = +self._pending
