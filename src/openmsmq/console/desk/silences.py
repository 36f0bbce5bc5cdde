"""Findings that someone knows about: they are silent for some hours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from openmsmq.console.limits import SILENCES_MAX
from openmsmq.console.models import FindingView

HOUR_S: Final = 3600


class Silences:
    """Which findings are silent, on which manager, and until when."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970 UTC."""
        self._clock = clock
        self._until: dict[tuple[str, str, str], float] = {}

    def silence(self, manager: str, kind: str, queue: str, hours: int) -> datetime | None:
        """Let a finding be silent from now on, or be heard again; until when it is silent."""
        self._until.pop((manager, kind, queue), None)
        if not hours:
            return None
        while len(self._until) >= SILENCES_MAX:
            del self._until[min(self._until, key=lambda key: self._until[key])]
        until = self._clock() + hours * HOUR_S
        self._until[manager, kind, queue] = until
        return datetime.fromtimestamp(until, UTC)

    def mark(self, manager: str, findings: list[FindingView]) -> list[FindingView]:
        """Say which findings are silent; these come last."""
        marked = [self._marked(manager, one) for one in findings]
        return sorted(marked, key=lambda one: one.silenced is not None)

    def _marked(self, manager: str, finding: FindingView) -> FindingView:
        key = manager, finding.kind, finding.queue
        until = self._until.get(key)
        if until is None:
            return finding
        if until <= self._clock():
            del self._until[key]
            return finding
        return msgspec.structs.replace(finding, silenced=datetime.fromtimestamp(until, UTC))
