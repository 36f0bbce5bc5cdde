"""The supporting server: qmcomm and qmcomm2 for clients without a queue manager ([MS-MQMP] 3.1).

It is off unless it is switched on; then a host has only what older remote read needs of qmcomm.
It has no socket; the time is given (`messages.tick`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from uuid import UUID

from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    IllegalOperation,
    InvalidParameter,
    MqisServerEmpty,
    WksCantServeClient,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.qm2qm.server import VERSION
from openmsmq.interfaces.qm2qm.stubs import QMCOMM, OneNumber
from openmsmq.interfaces.remote_read.results import OK
from openmsmq.interfaces.remote_read.stubs import NoArguments
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.answers import answer
from openmsmq.interfaces.supporting_server.clients import Clients
from openmsmq.interfaces.supporting_server.messages import DependentMessages
from openmsmq.interfaces.supporting_server.objects import QueueObjects
from openmsmq.interfaces.supporting_server.open_queues import DependentQueue, OpenQueues
from openmsmq.interfaces.supporting_server.queue_proxies import NoQueuesElsewhere, QueuesElsewhere
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.interfaces.supporting_server.units import DependentUnits
from openmsmq.interfaces.waits import Waits
from openmsmq.properties.message import INFINITE
from openmsmq.rpc.association import RandomBytes
from openmsmq.rpc.interface import RpcCall, RpcClient, RpcInterface, RpcMethod
from openmsmq.rpc.limits import RESPONSE_STUB_MAX
from openmsmq.rpc.status import RpcFault
from openmsmq.types.caller import Caller

NO_FOREST: Final = UUID(int=0)
DIRECTORY_SERVERS, LIFETIME, FOREST, SYSTEM_VERSION, IDENTITY = range(5)
"dwQueryType ([MS-MQMP] 3.1.4.23)."


class SupportingServer:
    """Lets clients without a queue manager use this one."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        *,
        caller_of: Callable[[RpcClient], Caller],
        policy: LevelPolicy,
        clients_max: int,
        now: Callable[[], float],
        random_bytes: RandomBytes,
        opening: Mapping[int, RpcMethod],
        elsewhere: QueuesElsewhere | None = None,
    ) -> None:
        """`opening` are the operations of qmcomm that every host has.

        `clients_max` of 0 says that this is no supporting server. `elsewhere` reads queues of other
        computers; without it none are read.
        """
        self._manager = manager
        waits: Waits[DependentQueue] = Waits()
        self.clients = Clients(
            manager, driver, caller_of=caller_of, policy=policy, clients_max=clients_max, now=now
        )
        self.units = DependentUnits(manager, driver, self.clients, now)
        self.queues = OpenQueues(
            manager,
            driver,
            self.clients,
            self.units,
            waits,
            random_bytes,
            elsewhere or NoQueuesElsewhere(),
        )
        self.messages = DependentMessages(manager, driver, self.queues, self.units, waits, now)
        own: dict[int, RpcMethod] = {
            **QueueObjects(manager, driver, self.clients).methods(),
            **self.units.methods(),
            **self.queues.methods(),
            Opnum.GET_REMOTE_QUEUE_NAME: RpcMethod(
                "R_QMGetRemoteQueueName", stubs.RemoteName, _refuse_old
            ),
            Opnum.QUERY_REGISTRY: RpcMethod(
                "R_QMQueryQMRegistryInternal", OneNumber, self._query_registry
            ),
        }
        messages = self.messages.methods()
        if not clients_max:
            own, messages = refused(Opnum), refused(MessageOpnum)
        self.interface = RpcInterface("qmcomm", QMCOMM, {**opening, **own})
        self.message_interface = RpcInterface("qmcomm2", QMCOMM2, messages, RESPONSE_STUB_MAX)

    def _query_registry(self, call: RpcCall) -> None:
        """R_QMQueryQMRegistryInternal ([MS-MQMP] 3.1.4.23)."""
        self.clients.caller(call)
        kind = call.args(OneNumber).number
        answer(
            call,
            lambda: stubs.RegistryResult(self._registry(kind), OK),
            lambda result: stubs.RegistryResult(None, result),
        )

    def _registry(self, kind: int) -> str:
        """What a manager says of itself ([MS-MQMP] 3.1.4.23; SS-20, SS-21)."""
        if kind == DIRECTORY_SERVERS:
            servers = self._manager.directory.servers
            if not servers:
                raise MqisServerEmpty("this manager knows no domain controller by name")
            return ",".join(servers)
        if kind == LIFETIME:
            seconds = self._manager.settings.time_to_reach_queue
            return str(INFINITE if seconds is None else seconds)
        if kind == FOREST:
            return str(NO_FOREST)
        if kind == SYSTEM_VERSION:
            return f"{VERSION.major}.{VERSION.minor}.{VERSION.build}"
        if kind == IDENTITY:
            return str(self._manager.identity)
        raise InvalidParameter(f"a query of type {kind}")


def refused(opnums: Iterable[int]) -> dict[int, RpcMethod]:
    """Operations of a manager that is no supporting server ([MS-MQMP] 3.1.4, 3.1.5; SS-08)."""
    return {opnum: RpcMethod("of supporting servers", NoArguments, _refuse) for opnum in opnums}


def _refuse(call: RpcCall) -> None:
    """This manager is no supporting server ([MS-MQMP] 3.1.4, 3.1.5; SS-08)."""
    raise RpcFault(WksCantServeClient.hresult)


def _refuse_old(call: RpcCall) -> None:
    """R_QMGetRemoteQueueName is obsolete ([MS-MQMP] 3.1.4.1): an exception, no result."""
    raise RpcFault(IllegalOperation.hresult)
