"""The server of qmmgmt: what administrators may ask of a manager, and do to it ([MS-MQMR] 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import (
    AccessDenied,
    IllegalFormatName,
    IllegalPropid,
    InvalidParameter,
    Malformed,
    MQError,
    QueueNotActive,
    UnsupportedFormatNameOperation,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.management.actions import ManagementAction, checked_action
from openmsmq.interfaces.management.machine_properties import MACHINE_PROPERTIES
from openmsmq.interfaces.management.queue_properties import QUEUE_PROPERTIES, QueueFacts
from openmsmq.interfaces.management.stubs import ManagedObject, ManagedOpnum, ObjectType
from openmsmq.interfaces.variants import NULL, VariantArgument
from openmsmq.names.base import FormatName
from openmsmq.names.parts import fold, join_queue, split_queue
from openmsmq.names.queue_format import QueueFormat, QueueFormatType
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, Property
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.rpc.interface import RpcCall, RpcClient, RpcInterface, RpcMethod
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.caller import Caller

OK = 0


class ManagementServer:
    """Lets administrators look at a manager and its queues, and act on them."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        *,
        caller_of: Callable[[RpcClient], Caller],
        policy: LevelPolicy,
    ) -> None:
        """`caller_of` says what a client is entitled to, or refuses it with `AccessDenied`."""
        self._manager = manager
        self._driver = driver
        self._caller_of = caller_of
        self._policy = policy
        opnum = ManagedOpnum
        self.interface = RpcInterface(
            "qmmgmt",
            stubs.MANAGEMENT,
            {
                opnum.GET_INFO: RpcMethod("R_QMMgmtGetInfo", stubs.GetInfo, self._get_info),
                opnum.ACTION: RpcMethod("R_QMMgmtAction", stubs.ActionArguments, self._act),
            },
        )

    # Who may ask

    def _administrator(self, call: RpcCall) -> Caller:
        """Refuse everybody else, before anything is looked up ([MS-MQMR] 3; MG-01, MG-03)."""
        caller = self._caller_of(call.client)
        if not caller.grant.allows("admin"):
            reason = "management is for administrators (openmsmq user add --role admin)"
            self._driver.call(lambda: self._manager.audit.denied(caller, "manage", "", reason))
            raise AccessDenied(reason)
        return caller

    def _check_level(self, call: RpcCall) -> None:
        """Calls are signed at least (MG-02)."""
        if call.client.level < self._policy.least_to_manage(call.client.address):
            raise RpcFault(RpcStatus.ACCESS_DENIED)

    # R_QMMgmtGetInfo

    def _get_info(self, call: RpcCall) -> None:
        """R_QMMgmtGetInfo ([MS-MQMR] 3.1.4.1): what came is sent back if it fails (MG-09)."""
        asked = call.args(stubs.GetInfo)
        self._check_level(call)
        try:
            for value in asked.values:
                value.check_depth()
        except Malformed as error:
            raise RpcFault(RpcStatus.BAD_STUB_DATA) from error
        try:
            self._administrator(call)
            found = self._driver.call(lambda: self._values(asked))
        except MQError as error:
            call.respond(stubs.GetInfoResults(asked.values, error.hresult))
        else:
            call.respond(stubs.GetInfoResults(found, OK))

    def _values(self, asked: stubs.GetInfo) -> tuple[VariantArgument, ...]:
        """All of them, as they are at one moment (MG-14)."""
        managed = asked.managed
        if managed.object_type == ObjectType.MACHINE:
            machine = _wanted(MGMT_MSMQ, asked.propids)
            return tuple(
                _argument(item, MACHINE_PROPERTIES[item](self._manager)) for item in machine
            )
        queue_format = _queue_format(managed)
        wanted = _wanted(MGMT_QUEUE, asked.propids)
        facts = QueueFacts(self._manager, self._find(_name_of(queue_format)))
        return tuple(_argument(item, QUEUE_PROPERTIES[item](facts)) for item in wanted)

    def _find(self, name: FormatName) -> ManagedQueue:
        """A queue, without opening it: a question keeps no reader out (MG-12, MG-13)."""
        manager = self._manager
        found: ManagedQueue | None = None
        with suppress(MQError):
            local = manager.resolver.local(name)
            if local is None:
                found = manager.queues.find_outgoing(name)
            else:
                parts = split_queue(local)
                found = manager.queues.find(join_queue(parts._replace(subqueue="")))
                if parts.subqueue:
                    found = found.subqueues.get(fold(parts.subqueue))
        if found is None or found.deleted:
            raise MQError(f"{name}: there is no such queue here")
        return found

    # R_QMMgmtAction

    def _act(self, call: RpcCall) -> None:
        """R_QMMgmtAction ([MS-MQMR] 3.1.4.2)."""
        asked = call.args(stubs.ActionArguments)
        self._check_level(call)
        try:
            caller = self._administrator(call)
            action = checked_action(asked.managed.object_type, asked.action)
            self._driver.call(lambda: self._do(action, asked.managed, caller))
        except MQError as error:
            call.respond(stubs.ActionResult(error.hresult))
        else:
            call.respond(stubs.ActionResult(OK))

    def _do(self, action: ManagementAction, managed: ManagedObject, caller: Caller) -> None:
        manager = self._manager
        match action:
            case ManagementAction.CONNECT:
                manager.bring_online(caller)
            case ManagementAction.DISCONNECT:
                manager.take_offline(caller)
            case ManagementAction.TIDY:
                manager.tidy(caller)
            case ManagementAction.PAUSE:
                manager.pause(self._outgoing(managed), caller)
            case ManagementAction.RESUME:
                manager.resume(self._outgoing(managed), caller)
            case ManagementAction.RESEND:
                manager.resend(self._outgoing(managed), caller)

    def _outgoing(self, managed: ManagedObject) -> ManagedQueue:
        """The outgoing queue whose destination is exactly the given name (MG-37)."""
        name = _name_of(_queue_format(managed))
        queue = self._manager.queues.find_outgoing(name)
        if queue is None or queue.deleted or queue.transfer is None:
            raise QueueNotActive(f"{name}: there is no outgoing queue for it")
        return queue


def _wanted(table: type[Property], propids: tuple[int, ...]) -> list[Any]:
    """The properties, if all of them are of the object's table ([MS-MQMR] 3.1.4.1; MG-10)."""
    known = {item.value: item for item in table}
    for number in propids:
        if number not in known:
            raise IllegalPropid(f"{number}: there is no such property of this object")
    return [known[number] for number in propids]


def _queue_format(managed: ManagedObject) -> QueueFormat:
    """What names the queue ([MS-MQMR] 2.2.1.2; MG-04)."""
    if managed.object_type == ObjectType.SESSION:
        raise InvalidParameter("sessions cannot be managed")
    if managed.value is None:
        raise InvalidParameter("no queue is named")
    found: QueueFormat = managed.value.queue_format()
    return found


def _name_of(found: QueueFormat) -> FormatName:
    """The name of a queue, if it is of a kind that can be managed (MG-05)."""
    if found.format_type == QueueFormatType.UNKNOWN:
        raise IllegalFormatName("a name of unknown kind")
    if found.format_type == QueueFormatType.DL:
        raise UnsupportedFormatNameOperation("a distribution list is no queue")
    return found.name()


def _argument(item: Property, value: Value) -> VariantArgument:
    return NULL if value is None else VariantArgument.of(PropVariant(item.vartype, value))
