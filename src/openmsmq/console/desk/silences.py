"""Findings that someone knows about: they are silent for some hours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from openmsmq.console.desk.kept import KeptRemarks, Remark
from openmsmq.console.limits import SILENCES_MAX
from openmsmq.console.models import FindingView

HOUR_S: Final = 3600
SILENCES_FILE: Final = "silences.json"
OWN: Final = ""
"What a file calls the manager in whose directory it is."


class Silence(Remark, frozen=True):
    """A finding that is silent."""

    manager: str
    kind: str
    queue: str
    until: float
    "Seconds since 1970 UTC."
    reason: str = ""

    @property
    def key(self) -> str:
        """Which finding it is, on which manager."""
        return key_of(self.manager, self.kind, self.queue)


def key_of(manager: str, kind: str, queue: str) -> str:
    """What tells a finding from others."""
    return "\0".join((manager, kind, queue.lower()))


class Silences:
    """Which findings are silent, on which manager, and until when."""

    def __init__(
        self, clock: Callable[[], float], directory: Path | None = None, own: str = OWN
    ) -> None:
        """`clock` gives seconds since 1970 UTC; `own` is the manager that has the directory.

        Without a directory they are forgotten when the console ends.
        """
        self._clock = clock
        self._own = own
        path = None if directory is None else directory / SILENCES_FILE
        self._kept = KeptRemarks(Silence, path)

    def silence(
        self, manager: str, kind: str, queue: str, hours: int, reason: str = ""
    ) -> datetime | None:
        """Let a finding be silent from now on, or be heard again; until when it is silent."""
        now = self._clock()
        made = Silence(self._name(manager), kind, queue, now + hours * HOUR_S, reason)
        with self._kept.changing() as kept:
            for key in [key for key, one in kept.items() if one.until <= now]:
                del kept[key]
            kept.pop(made.key, None)
            if not hours:
                return None
            while len(kept) >= SILENCES_MAX:
                del kept[min(kept, key=lambda key: kept[key].until)]
            kept[made.key] = made
        return datetime.fromtimestamp(made.until, UTC)

    def all(self) -> list[Silence]:
        """Those that count now, the one that ends first before the others."""
        now = self._clock()
        found = (one for one in self._kept.read().values() if one.until > now)
        return sorted(found, key=lambda one: one.until)

    def mark(self, manager: str, findings: list[FindingView]) -> list[FindingView]:
        """Say which findings are silent; these come last."""
        kept, now = self._kept.read(), self._clock()
        marked = []
        for one in findings:
            silence = kept.get(key_of(self._name(manager), one.kind, one.queue))
            if silence is not None and silence.until > now:
                until = datetime.fromtimestamp(silence.until, UTC)
                one = msgspec.structs.replace(one, silenced=until)
            marked.append(one)
        return sorted(marked, key=lambda one: one.silenced is not None)

    def _name(self, manager: str) -> str:
        return OWN if manager == self._own else manager
