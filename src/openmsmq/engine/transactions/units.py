"""Units that this manager decides, as programs and people ask for them."""

from __future__ import annotations

from openmsmq.engine.manager import QueueManager
from openmsmq.types.units import UnitInfo


def unit_infos(local: QueueManager) -> list[UnitInfo]:
    """All of them, the oldest first."""
    now = local.timeline.now
    return [
        UnitInfo(unit.name, unit.state.value, max(0, now - unit.decided), unit.waiting)
        for unit in local.units.decided
    ]
