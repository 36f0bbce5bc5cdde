"""Transactions."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from openmsmq.client._async.backend import Backend
from openmsmq.client.backend import Work
from openmsmq.errors import MQError


class Transaction:
    """Sends and receives that take effect together or not at all."""

    def __init__(self, backend: Backend, xid: str, *, stage: bool = False) -> None:
        self._backend = backend
        self._xid = xid
        self._stage = stage
        self._work: Work | None = None
        self._is_over = False

    async def begun(self) -> Work:
        """The transaction itself, begun when it is first needed."""
        if self._work is None:
            self._work = await self._backend.begin(self._xid, stage=self._stage)
        return self._work

    async def prepare(self) -> None:
        """Write down all that was done, and wait for `commit` or `abort` by name."""
        await self._backend.prepare(await self.begun())
        self._is_over = True

    async def commit(self) -> None:
        """Let all of it take effect."""
        await self._backend.commit(await self.begun())
        self._is_over = True

    async def abort(self) -> None:
        """Undo all of it: received messages are back in their places."""
        await self._backend.abort(await self.begun())
        self._is_over = True

    async def __aenter__(self) -> Self:
        await self.begun()
        return self

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
            return
        try:
            await self.commit()
        except MQError:
            await self.abort()
            raise


class TwoPhase(Transaction):
    """A transaction in two phases, after the two-phase extension of the DB-API (PEP 249).

    `manager.tpc(xid)` can be given wherever a transaction is asked for.
    """

    async def tpc_begin(self) -> None:
        """Begin it."""
        await self.begun()

    async def tpc_prepare(self) -> None:
        """The first phase: from here on it outlives this connection, and any crash."""
        await self.prepare()

    async def tpc_commit(self, xid: str | None = None) -> None:
        """The second phase, of this one or of any that is prepared; idempotent."""
        if xid is None and not self._is_over:
            await self.commit()
        else:
            await self._backend.commit_prepared(xid or self._xid)

    async def tpc_rollback(self, xid: str | None = None) -> None:
        """Undo it, prepared or not; idempotent."""
        if xid is None and not self._is_over:
            await self.abort()
        else:
            await self._backend.abort_prepared(xid or self._xid)

    async def tpc_recover(self) -> list[str]:
        """The names of all transactions that are prepared and wait for their outcome."""
        return list(await self._backend.prepared())


async def work_of(transaction: Transaction | None) -> Work | None:
    """What a backend knows a transaction by; None for none."""
    return None if transaction is None else await transaction.begun()
