"""Units: transactions that other managers and databases have a part in, decided here.

All others have prepared their parts when this manager commits its own, and with it, in one commit
of the store, the decision: the unit's name and those who have to be notified. That a unit is
aborted is not written (presumed abort): one that is neither active nor decided will never be
committed, since its transaction here was begun first and is gone. A decision is kept until all have
confirmed that they did their parts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.engine.transactions.lifecycle import Also, Transactions
from openmsmq.engine.transactions.limits import PARTICIPANT_SIZE_MAX, PARTICIPANTS_MAX, UNITS_MAX
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import InsufficientResources, InvalidParameter, TransactionSequence
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.units import UnitState, decider_of

_PREFIX: Final = b"unit:"


@dataclass(slots=True)
class UnconfirmedUnit:
    """A unit that is committed and not confirmed by all."""

    name: str
    decided: int
    "When, in seconds as lifetimes count them."
    waiting: tuple[str, ...]
    "Participants that have not confirmed."
    is_attended: bool
    "The program that decided it is there, and tells the participants."

    @property
    def state(self) -> UnitState:
        """Whether its program is active."""
        return UnitState.COMMITTING if self.is_attended else UnitState.COMMITTED


class UnitRow(NamedTuple):
    """What the store keeps of a unit."""

    decided: int
    waiting: list[str]

    def pack(self) -> bytes:
        """The value of its row."""
        return json.dumps(self).encode()


class Units:
    """The units that this manager decides."""

    def __init__(self, core: Core, transacting: Transactions) -> None:
        self._core = core
        self._transactions = transacting
        self._decided = _load(core.snapshot)

    def is_own(self, transaction: ManagedTransaction) -> bool:
        """Whether a transaction is the part that decides a unit."""
        return decider_of(transaction.xid) == self._core.identity

    def commit(
        self,
        transaction: ManagedTransaction,
        participants: Sequence[str],
        caller: Caller = INTERNAL,
    ) -> Future[None]:
        """Commit the part of this manager, and with it the whole unit."""
        name = transaction.xid
        self._check(name, participants)
        if not participants:  # the outcome is remembered for who does not get the answer
            decisions = self._core.decisions
            return self._transactions.commit(
                transaction,
                Also(
                    lambda batch: decisions.write(batch.writer, name, committed=True),
                    lambda: decisions.note(name, committed=True),
                ),
                caller,
            )
        unit = UnconfirmedUnit(name, self._core.timeline.now, tuple(participants), is_attended=True)

        def noted() -> None:
            self._decided[name] = unit

        also = Also(lambda batch: _put(batch, unit), noted)
        return self._transactions.commit(transaction, also, caller)

    def _check(self, name: str, participants: Sequence[str]) -> None:
        if name in self._decided or self._core.decisions.get(name) is not None:
            raise TransactionSequence(f"{name} was decided before")
        if len(participants) > PARTICIPANTS_MAX:
            raise InvalidParameter(f"participants: a unit has at most {PARTICIPANTS_MAX}")
        for participant in participants:
            if not 0 < len(participant) <= PARTICIPANT_SIZE_MAX:
                raise InvalidParameter(
                    f"participants: each is called by 1 to {PARTICIPANT_SIZE_MAX} characters"
                )
        if len(self._decided) >= UNITS_MAX:
            raise InsufficientResources(
                f"{UNITS_MAX} units wait for participants to confirm them; recover some first"
            )

    def state(self, name: str) -> UnitState:
        """Where a unit stands. An unknown one is aborted."""
        unit = self._decided.get(name)
        if unit is not None:
            return unit.state
        if name in self._transactions.units:
            return UnitState.ACTIVE
        return UnitState.COMMITTED if self._core.decisions.get(name) else UnitState.ABORTED

    def finish(self, name: str, confirmed: Collection[str]) -> Future[None]:
        """Some have confirmed the decision; idempotent."""
        pending: Future[None] = Future()
        unit = self._decided.get(name)
        if unit is None:
            pending.succeed(None)
            return pending
        unit.is_attended = False
        if not set(unit.waiting) & set(confirmed):
            pending.succeed(None)
            return pending

        def apply(batch: Batch) -> None:
            raw = batch.writer.get(Table.META, _key(name))
            if raw is None:  # another call in this commit was the last
                return
            row = UnitRow(*json.loads(raw))
            waiting = [one for one in row.waiting if one not in confirmed]
            if waiting:
                batch.writer.put(Table.META, _key(name), row._replace(waiting=waiting).pack())
            else:
                batch.writer.delete(Table.META, _key(name))
                self._core.decisions.write(batch.writer, name, committed=True)

        def committed() -> None:
            unit.waiting = tuple(one for one in unit.waiting if one not in confirmed)
            if not unit.waiting and self._decided.pop(name, None) is not None:
                self._core.decisions.note(name, committed=True)
            pending.succeed(None)

        self._core.submit(apply, committed, pending.fail)
        return pending

    def leave(self, names: Collection[str]) -> None:
        """The program that decided these units is gone."""
        for name in names:
            if name in self._decided:
                self._decided[name].is_attended = False

    @property
    def decided(self) -> list[UnconfirmedUnit]:
        """The units that are committed and not confirmed by all, the oldest first."""
        return list(self._decided.values())


def _put(batch: Batch, unit: UnconfirmedUnit) -> None:
    row = UnitRow(unit.decided, list(unit.waiting))
    batch.writer.put(Table.META, _key(unit.name), row.pack())


def _load(snapshot: Snapshot) -> dict[str, UnconfirmedUnit]:
    found = []
    for key, row in snapshot.scan(Table.META, _PREFIX, _PREFIX + b"\xff"):
        kept = UnitRow(*json.loads(row))
        found.append(
            UnconfirmedUnit(key.decode(), kept.decided, tuple(kept.waiting), is_attended=False)
        )
    return {unit.name: unit for unit in sorted(found, key=lambda unit: unit.decided)}


def _key(name: str) -> bytes:
    return name.encode()
