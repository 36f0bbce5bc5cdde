"""Calls about a manager as a whole, all of which may be made again."""

from __future__ import annotations

from typing import Any

from openmsmq.app_protocol.members import Members
from openmsmq.client import payloads as remote
from openmsmq.client.requests import SLOW
from openmsmq.limits import U64_MAX
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueEvent, QueueHistory
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState


class RemoteCalls:
    """What can be asked of a manager without a queue or a transaction of one's own."""

    async def _call(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that may be made again."""
        raise NotImplementedError

    async def _call_once(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        """Make a call that must not be made twice."""
        raise NotImplementedError

    async def control(self, call: str, /, **arguments: Any) -> Members:
        return await self._call_once(call, SLOW, **arguments)

    async def subscriptions(self, name: str) -> list[SubscriptionInfo]:
        answer = await self._call("subscriptions", **({"name": name} if name else {}))
        return [remote.subscription_info(item) for item in answer.objects("subscriptions")]

    async def prepared(self) -> dict[str, int]:
        ages = (await self._call("prepared")).object("ages")
        return {xid: ages.integer(xid) for xid in ages.values}

    async def commit_prepared(self, xid: str) -> None:
        await self._call("commit_prepared", SLOW, xid=xid)

    async def abort_prepared(self, xid: str) -> None:
        await self._call("abort_prepared", SLOW, xid=xid)

    async def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        answer = (await self._call("unit_states", xids=xids)).object("states")
        return {xid: remote.unit_state(answer.text(xid)) for xid in xids}

    async def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        await self._call("finish_unit", SLOW, xid=xid, confirmed=confirmed)

    async def units(self) -> list[UnitInfo]:
        answer = await self._call("units")
        return [remote.unit_info(item) for item in answer.objects("units")]

    async def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, final: bool
    ) -> bool:
        given: dict[str, Any] = {"query": writer, "epoch": epoch, "winners": winners}
        if owner:
            given["owner"] = owner
        if final:
            given["final"] = True
        answer = await self._call("commit_epoch", SLOW, **given)
        return answer.flag("applied")

    async def explain(self, message_id: str) -> list[HistoryEvent]:
        answer = await self._call("explain", message_id=message_id)
        return [remote.noted(HistoryEvent, item) for item in answer.objects("events")]

    async def queue_history(self, name: str, before: int, limit: int) -> QueueHistory:
        answer = await self._call("queue_history", name=name, before=before, limit=limit)
        events = [remote.noted(QueueEvent, item) for item in answer.objects("events")]
        return QueueHistory(events, answer.integer("next", maximum=U64_MAX))

    async def audit(self, after: int, limit: int) -> list[AuditEntry]:
        answer = await self._call("audit", after=after, limit=limit)
        return [remote.noted(AuditEntry, item) for item in answer.objects("entries")]

    async def statistics(self) -> dict[str, int]:
        counts = (await self._call("statistics")).object("counts").values
        return {name: int(count) for name, count in counts.items()}  # type: ignore[arg-type]

    async def settings(self) -> Settings:
        return remote.settings((await self._call("settings")).object("settings"))

    async def configure(self, changes: dict[str, Any]) -> None:
        await self._call("configure", **changes)
