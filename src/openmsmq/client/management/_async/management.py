"""Management of a manager elsewhere, over one connection ([MS-MQMR] 3.2)."""

from __future__ import annotations

from typing import Self, TypeVar

from openmsmq.client.management.answers import (
    MACHINE,
    OLD_MACHINE,
    OLD_QUEUE,
    QUEUE,
    get_info,
    machine_of,
    queue_of,
    values_of,
)
from openmsmq.client.remote_read._async.association import RpcAssociation
from openmsmq.client.remote_read.messages import check_result
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import IllegalPropid, Malformed, ServiceNotAvailable
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.management.actions import ManagementAction
from openmsmq.interfaces.management.stubs import (
    MANAGEMENT,
    THE_MACHINE,
    ManagedObject,
    ManagedOpnum,
    ObjectType,
)
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.properties.managed import ManagedMachine, ManagedQueueInfo
from openmsmq.properties.propid import Property
from openmsmq.properties.variant import Value

PropertyT = TypeVar("PropertyT", bound=Property)


class RemoteManagement:
    """A manager elsewhere, as its administrators see it.

    Errors are the manager's own, `MQError` with its HRESULT; nothing is tried again.
    """

    def __init__(self, place: RemotePlace) -> None:
        self._place = place
        self._association = RpcAssociation(place, interface=MANAGEMENT)

    async def connect(self) -> None:
        """Log on."""
        await self._association.connect()

    async def close(self) -> None:
        """Close the connection."""
        await self._association.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def machine(self) -> ManagedMachine:
        """What the manager says of itself."""
        try:
            found = await self.properties(THE_MACHINE, MACHINE)
        except IllegalPropid:
            found = await self.properties(THE_MACHINE, OLD_MACHINE)
        return machine_of(found)

    async def queue(self, name: str) -> ManagedQueueInfo:
        """What the manager says of a queue, its own or an outgoing one."""
        managed = self._queue(name)
        try:
            found = await self.properties(managed, QUEUE)
        except IllegalPropid:
            found = await self.properties(managed, OLD_QUEUE)
        return queue_of(found)

    async def properties(
        self, managed: ManagedObject, wanted: tuple[PropertyT, ...]
    ) -> dict[PropertyT, Value]:
        """R_QMMgmtGetInfo ([MS-MQMR] 3.1.4.1); without its values if it fails (3.2.4)."""
        arguments = get_info(managed, wanted)
        opnum = ManagedOpnum.GET_INFO
        try:
            results = await self._association.call(opnum, arguments, stubs.GetInfoResults)
            check_result(results.result)
            return values_of(wanted, results)
        except Malformed as error:
            raise ServiceNotAvailable(f"the manager's answer cannot be read: {error}") from error

    async def connect_network(self) -> None:
        """Bring the manager online: it sends and receives messages again (CONNECT)."""
        await self._act(THE_MACHINE, ManagementAction.CONNECT)

    async def disconnect_network(self) -> None:
        """Let the manager send and take no messages, until it starts again (DISCONNECT)."""
        await self._act(THE_MACHINE, ManagementAction.DISCONNECT)

    async def tidy(self) -> None:
        """Let the manager give back what it does not need; OpenMSMQ removes no message (TIDY).

        [MS-MQMR] 3.1.4.2 can be read so that all queues are purged.
        """
        await self._act(THE_MACHINE, ManagementAction.TIDY)

    async def pause(self, name: str) -> None:
        """Send nothing from an outgoing queue, which is named as it was used to send (PAUSE)."""
        await self._act(self._queue(name), ManagementAction.PAUSE)

    async def resume(self, name: str) -> None:
        """Go on sending from an outgoing queue (RESUME)."""
        await self._act(self._queue(name), ManagementAction.RESUME)

    async def resend(self, name: str) -> None:
        """Send transactional messages of an outgoing queue again now (EOD_RESEND)."""
        await self._act(self._queue(name), ManagementAction.RESEND)

    async def _act(self, managed: ManagedObject, action: ManagementAction) -> None:
        """R_QMMgmtAction ([MS-MQMR] 3.1.4.2)."""
        arguments = stubs.ActionArguments(managed, action)
        opnum = ManagedOpnum.ACTION
        results = await self._association.call(opnum, arguments, stubs.ActionResult)
        check_result(results.result)

    def _queue(self, name: str) -> ManagedObject:
        argument = QueueFormatArgument.of(self._place.queue_name(name))
        return ManagedObject(ObjectType.QUEUE, argument)
