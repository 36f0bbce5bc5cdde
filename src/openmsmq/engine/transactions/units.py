"""Units that this manager decides, as programs and people ask for them."""

from __future__ import annotations

from dataclasses import dataclass

from openmsmq.engine.manager import LocalManager


@dataclass(frozen=True, slots=True)
class UnitInfo:
    """A unit that is committed, while some of its participants have not confirmed it."""

    name: str
    state: str
    "`committing` while its program tells the participants, `committed` if that program is gone."
    age: int
    "Seconds since it was decided."
    waiting: tuple[str, ...]
    "The participants that have not confirmed."


def unit_infos(local: LocalManager) -> list[UnitInfo]:
    """All of them, the oldest first."""
    now = local.core.timeline.now
    return [
        UnitInfo(unit.name, unit.state.value, max(0, now - unit.decided), unit.waiting)
        for unit in local.units.decided
    ]
