"""Units that a crash has left behind.

Whatever a participant has prepared waits for the outcome, and the manager that decides knows it. A
unit whose program is active is left alone: the manager that decides sees that, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

from openmsmq.client._async.manager import Manager
from openmsmq.client._async.participants import (
    Participant,
    TwoPhaseConnection,
    get_ready,
    participants,
)
from openmsmq.errors import AccessDenied
from openmsmq.types.units import UnitInfo, UnitState, decider_of


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was done about a part of a unit that was found."""

    unit: str
    participant: str
    outcome: str
    "`committed`, `aborted`, `confirmed` (it was committed before), `alive` or `failed`."
    detail: str = ""
    "Why it failed."


async def recover(manager: Manager, *others: Manager | TwoPhaseConnection) -> list[Recovered]:
    """Finish the units that `manager` decides, wherever one of the others has a part in them.

    The others are managers and connections to databases on which nothing is under way. A unit
    whose program is active is left alone.
    """
    found = participants(manager, others)
    await get_ready(manager, found)
    return await recover_at(manager, found)


async def recover_at(manager: Manager, found: Sequence[Participant]) -> list[Recovered]:
    """The same for participants that are ready."""
    try:
        # First what is decided: who has prepared it before and has it no more has committed it.
        decided = {unit.name: unit for unit in await manager.units()}
    except AccessDenied:
        decided = {}  # only an administrator sees all; what others find they may ask for
    done: list[Recovered] = []
    for participant in found:
        participant.partner.recovered = monotonic()
        try:
            done += await _recover_one(manager, participant, decided)
        except AccessDenied:
            continue
    return done


async def _recover_one(
    manager: Manager, participant: Participant, decided: dict[str, UnitInfo]
) -> list[Recovered]:
    own, name = UUID(manager.id), participant.partner.name
    waiting = await participant.prepared()
    units = [unit for unit in waiting if unit in decided or decider_of(unit) == own]
    states = await manager.backend.unit_states(units) if units else {}
    done = [await _end(manager, participant, unit, state) for unit, state in states.items()]
    for unit in decided.values():
        if (
            participant.is_known
            and name in unit.waiting
            and unit.name not in waiting
            and unit.state == UnitState.COMMITTED
        ):
            await manager.backend.finish_unit(unit.name, [name])
            done.append(Recovered(unit.name, name, "confirmed"))
    return done


async def _end(
    manager: Manager, participant: Participant, unit: str, state: UnitState
) -> Recovered:
    name = participant.partner.name
    if state in (UnitState.ACTIVE, UnitState.COMMITTING):
        return Recovered(unit, name, "alive")
    try:
        if state is UnitState.ABORTED:
            await participant.abort_prepared(unit)
        else:
            await participant.commit_prepared(unit)
            await manager.backend.finish_unit(unit, [name])
    except Exception as error:  # of whatever driver: another one may have been faster
        return Recovered(unit, name, "failed", f"{type(error).__name__}: {error}")
    return Recovered(unit, name, state.value)
