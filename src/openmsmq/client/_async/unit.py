"""Units: one transaction over queue managers and databases.

    all others prepare  ->  the first manager commits its part with the decision  ->  others commit

Until the decision is on disk a crash undoes everything; from then on everything takes effect,
however long that takes.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from uuid import UUID

from openmsmq.client._async.manager import Manager
from openmsmq.client._async.participants import (
    Branch,
    OtherManager,
    Participant,
    TwoPhaseConnection,
    get_ready,
    participants,
)
from openmsmq.client._async.recovery import recover_at
from openmsmq.client._async.sleep import pause
from openmsmq.client._async.transaction import Transaction
from openmsmq.client.backend import Work
from openmsmq.errors import (
    DtcConnect,
    InvalidHandle,
    InvalidParameter,
    MQError,
    OperationCancelled,
    ServiceNotAvailable,
    StorageFailed,
    TokenRefused,
    TransactionSequence,
)
from openmsmq.types.units import TOKEN_SIZE, UnitState, unit_name

_log = logging.getLogger(__name__)
_COMMITTED = (UnitState.COMMITTING, UnitState.COMMITTED)
_UNCERTAIN = (ServiceNotAvailable, TokenRefused, OperationCancelled, StorageFailed)
"After these a commit may have been done."
_BACK_OFF = (0.05, 1.0)
"Seconds until something is tried again, at first and at most."


def distributed(
    manager: Manager, *others: Manager | TwoPhaseConnection, patience: float = 10.0
) -> Unit:
    """One transaction over queue managers and databases: `with` commits it or aborts it.

    The first manager decides. The others are more managers, and DB-API connections with the
    two-phase extension, on which nothing is under way. The unit is the transaction of the first
    manager, `unit[other]` that of another one; what is done on the connections belongs to it.
    `patience`: seconds to try to notify the others that the unit is committed; later the next
    unit notifies them, or `recover`.
    """
    return Unit(manager, others, patience)


class Unit(Transaction):
    """A transaction over several queue managers and databases."""

    def __init__(
        self, manager: Manager, others: tuple[Manager | TwoPhaseConnection, ...], patience: float
    ) -> None:
        token = secrets.token_hex(TOKEN_SIZE // 2)
        super().__init__(manager.backend, unit_name(UUID(manager.id), token))
        self._manager = manager
        self._others = participants(manager, others)
        self._patience = patience
        self.waiting: tuple[str, ...] = ()
        "Participants that could not be notified that the unit is committed; recovery will."

    @property
    def name(self) -> str:
        """What it is called, by all who have a part in it."""
        return self._xid

    def __getitem__(self, manager: Manager) -> Transaction:
        """The transaction of one of its managers."""
        if manager is self._manager:
            return self
        for other in self._others:
            if isinstance(other, OtherManager) and other.manager is manager:
                if other.branch is None:
                    other.branch = Branch(manager, self, self.name)
                return other.branch
        raise InvalidParameter("the queue manager has no part in the unit: name it at its begin")

    async def begun(self) -> Work:
        """The part of the manager that decides (Coordinator Unavailable, [MS-MQSO] 5.5.3)."""
        if self._work is None:
            try:
                return await super().begun()
            except ServiceNotAvailable as error:
                raise DtcConnect(f"the manager that decides: {error.detail}") from error
        if not await self._backend.is_open(self._work):
            raise DtcConnect("the manager that decides is gone, and with it the unit: it is undone")
        return self._work

    async def prepare(self) -> None:
        """Not for the program to do."""
        raise TransactionSequence("a unit is prepared when it is committed")

    async def __aenter__(self) -> Unit:
        if self._is_over or self._work is not None:
            raise TransactionSequence("a unit is used once: make a new one")
        await self._recover()
        await self.begun()
        try:
            for other in self._others:
                await other.begin(self.name)
        except BaseException:
            await self.abort()
            raise
        return self

    async def _recover(self) -> None:
        """Finish what an earlier run has left behind."""
        try:
            await get_ready(self._manager, self._others)
            due = [other for other in self._others if other.partner.is_due and other.partner.name]
            for found in await recover_at(self._manager, due) if due else []:
                _log.log(
                    logging.WARNING if found.outcome == "failed" else logging.INFO,
                    "unit %s: %s %s %s",
                    *(found.unit, found.participant, found.outcome, found.detail),
                )
        except ServiceNotAvailable as error:
            raise DtcConnect(f"a manager of the unit: {error.detail}") from error

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_over:
            return
        if kind is not None:
            await self.abort()
        else:
            await self.commit()

    async def abort(self) -> None:
        """Undo all of it."""
        self._is_over = True
        for other in self._others:
            try:
                await other.abort()
            except Exception as error:  # of whatever driver: recovery finds what is prepared
                _log.warning("unit %s: %s: %s", self.name, other.partner.name, error)
                await other.give_up()
        if self._work is not None:
            try:
                await self._backend.abort(self._work)
            except MQError as error:
                _log.warning("unit %s: %s", self.name, error)

    async def commit(self) -> None:
        """Let all of it take effect, or none."""
        used = [other for other in self._others if other.is_used]
        try:
            work = await self.begun()
            for other in used:
                await other.prepare()
        except BaseException:
            await self.abort()
            raise
        interruption = await self._decide(work, used)
        self._is_over = True
        await self._tell(used)
        if interruption is not None:
            raise interruption

    async def _decide(self, work: Work, used: Sequence[Participant]) -> BaseException | None:
        """Commit the part of the manager that decides; what interrupted that, if anything did."""
        try:
            await self._backend.commit(work, [other.partner.name for other in used])
        except BaseException as error:
            if not await self._is_committed_after(error):
                await self.abort()
                raise
            return None if isinstance(error, Exception) else error
        return None

    async def _is_committed_after(self, error: BaseException) -> bool:
        """Whether it is decided, although there was no answer, or another one."""
        if isinstance(error, MQError) and not isinstance(error, _UNCERTAIN):
            return False
        state = await self._outcome()
        if state is not None:
            return state in _COMMITTED
        self._is_over = True
        for other in self._others:
            await other.give_up()
        if not isinstance(error, Exception):
            raise error
        raise DtcConnect(f"{self.name}: the outcome is unknown until recovery") from error

    async def _outcome(self) -> UnitState | None:
        """What the manager says that decides; None if it did not say in time."""
        delay, most = _BACK_OFF
        limit = monotonic() + self._patience
        while True:
            try:
                state = (await self._backend.unit_states([self.name]))[self.name]
            except InvalidHandle:
                return None
            except MQError:
                state = UnitState.ACTIVE
            if state is not UnitState.ACTIVE:
                return state
            if monotonic() >= limit:
                return None
            await pause(delay)
            delay = min(2 * delay, most)

    async def _tell(self, used: Sequence[Participant]) -> None:
        """Tell all that it is committed, and the manager that decides who has done its part."""
        confirmed: list[str] = []
        try:
            for other in used:
                if await self._is_notified(other):
                    confirmed.append(other.partner.name)
                else:
                    other.partner.recovered = None
        finally:
            names = [other.partner.name for other in used]
            self.waiting = tuple(name for name in names if name not in confirmed)
            if used:
                await self._finish(confirmed)

    async def _is_notified(self, other: Participant) -> bool:
        delay, most = _BACK_OFF
        limit = monotonic() + self._patience
        while True:
            try:
                await other.commit()
            except Exception as error:  # of whatever driver
                if other.is_lost or monotonic() >= limit:
                    _log.warning(
                        "unit %s is committed; %s is notified later: %s",
                        *(self.name, other.partner.name, error),
                    )
                    await other.give_up()
                    return False
            else:
                return True
            await pause(delay)
            delay = min(2 * delay, most)

    async def _finish(self, confirmed: list[str]) -> None:
        try:
            await self._backend.finish_unit(self.name, confirmed)
        except MQError as error:  # recovery finds out that it is done
            _log.warning("unit %s is committed and not forgotten: %s", self.name, error)
