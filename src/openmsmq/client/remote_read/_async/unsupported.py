"""What remote read has no calls for: the rest of what a manager can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.client._async.backend import SubscriptionBackend
from openmsmq.client.backend import Handle, Work
from openmsmq.errors import UnsupportedOperation
from openmsmq.types.delivery import DeliveryOptions, RedirectOptions
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueHistory
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState


class UnsupportedCalls:
    """Refuses what needs the application protocol (`openmsmq.connect`)."""

    protocol = "remote read (MS-MQRR)"
    "What has no such calls."

    async def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        raise self._unsupported("create queue")

    async def delete_queue(self, name: str) -> None:
        raise self._unsupported("delete queue")

    async def queues(self, *, everything: bool) -> list[QueueInfo]:
        raise self._unsupported("queues")

    async def outgoing(self) -> list[OutgoingInfo]:
        raise self._unsupported("outgoing")

    async def peers(self) -> list[PeerInfo]:
        raise self._unsupported("peers")

    async def control(self, call: str, /, **arguments: Any) -> Members:
        raise self._unsupported(call.replace("_", " "))

    async def multicast(self) -> list[MulticastInfo]:
        raise self._unsupported("multicast")

    async def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        raise self._unsupported("change queue")

    async def redirect(
        self, handle: Handle, lookups: list[int], target: Handle, options: RedirectOptions
    ) -> dict[int, SentId]:
        raise self._unsupported("redirect")

    async def pause(self, handle: Handle) -> None:
        raise self._unsupported("pause")

    async def resume(self, handle: Handle) -> None:
        raise self._unsupported("resume")

    async def retry(self, handle: Handle) -> None:
        raise self._unsupported("retry")

    async def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        raise self._unsupported("send")

    async def send_packets(
        self, handle: Handle, packets: Sequence[bytes], work: Work | None
    ) -> Sequence[SentId]:
        raise self._unsupported("send packets")

    async def permissions(self, handle: Handle) -> str:
        raise self._unsupported("permissions")

    async def set_permissions(self, handle: Handle, sddl: str) -> None:
        raise self._unsupported("set permissions")

    async def peek_slices(self, handle: Handle, read: Read) -> tuple[QueuedSlice, ...]:
        raise self._unsupported("peek slices")

    async def open_subscription(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> SubscriptionBackend:
        raise self._unsupported("open subscription")

    async def subscriptions(self, name: str) -> list[SubscriptionInfo]:
        raise self._unsupported("subscriptions")

    async def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        raise self._unsupported("drop subscription")

    async def prepare(self, work: Work) -> None:
        raise self._unsupported("prepare")

    async def prepared(self) -> dict[str, int]:
        raise self._unsupported("prepared")

    async def commit_prepared(self, xid: str) -> None:
        raise self._unsupported("commit prepared")

    async def abort_prepared(self, xid: str) -> None:
        raise self._unsupported("abort prepared")

    async def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        raise self._unsupported("unit states")

    async def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        raise self._unsupported("finish unit")

    async def units(self) -> list[UnitInfo]:
        raise self._unsupported("units")

    async def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, final: bool
    ) -> bool:
        raise self._unsupported("commit epoch")

    async def audit(self, after: int, limit: int) -> list[AuditEntry]:
        raise self._unsupported("audit")

    async def queue_history(self, name: str, before: int, limit: int) -> QueueHistory:
        raise self._unsupported("queue history")

    async def explain(self, message_id: str) -> list[HistoryEvent]:
        raise self._unsupported("explain")

    async def statistics(self) -> dict[str, int]:
        raise self._unsupported("statistics")

    async def settings(self) -> Settings:
        raise self._unsupported("settings")

    async def configure(self, changes: dict[str, Any]) -> None:
        raise self._unsupported("configure")

    def _unsupported(self, what: str) -> UnsupportedOperation:
        words = f"{what}: {self.protocol} has no such call; use openmsmq.connect() for it"
        return UnsupportedOperation(words)
