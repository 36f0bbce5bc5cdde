"""Queues that dependent clients create, change, see and delete ([MS-MQMP] 3.1.4.5 to 3.1.4.11)."""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.engine.authorization import authorize_queue
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.ownership import OPEN_TO_ALL
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import (
    IllegalPropertyValue,
    IllegalQueuePathName,
    InvalidParameter,
    Malformed,
    QueueNotFound,
    SecurityDescriptorTooSmall,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.management.stubs import GetInfoResults
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read.results import OK
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.answers import answer, answer_when_done
from openmsmq.interfaces.supporting_server.clients import Clients
from openmsmq.interfaces.supporting_server.descriptors import checked_descriptor, merged, selected
from openmsmq.interfaces.supporting_server.queue_properties import (
    changed_properties,
    created_properties,
    values_of,
)
from openmsmq.interfaces.supporting_server.stubs import QUEUE, Opnum
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.names.format import PrivateName
from openmsmq.names.parts import fold, split_queue
from openmsmq.names.path import parse_path_name, shown
from openmsmq.names.queue_format import QueueFormatType
from openmsmq.rpc.interface import RpcCall, RpcMethod
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.security.access import QueueRights
from openmsmq.security.sddl import format_sddl
from openmsmq.types.caller import Caller
from openmsmq.types.queues import QueueKind


class QueueObjects:
    """The operations on queues that need none to be open."""

    def __init__(self, manager: QueueManager, driver: EngineDriver, clients: Clients) -> None:
        self._manager = manager
        self._driver = driver
        self._clients = clients

    def methods(self) -> dict[int, RpcMethod]:
        """The operations, by number."""
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            Opnum.CREATE_OBJECT: ("R_QMCreateObjectInternal", stubs.CreateObject, self._create),
            Opnum.SET_OBJECT_SECURITY: (
                "R_QMSetObjectSecurityInternal",
                stubs.SetSecurity,
                self._set_security,
            ),
            Opnum.GET_OBJECT_SECURITY: (
                "R_QMGetObjectSecurityInternal",
                stubs.GetSecurity,
                self._get_security,
            ),
            Opnum.DELETE_OBJECT: ("R_QMDeleteObject", stubs.Target, self._delete),
            Opnum.GET_OBJECT_PROPERTIES: (
                "R_QMGetObjectProperties",
                stubs.GetProperties,
                self._get_properties,
            ),
            Opnum.SET_OBJECT_PROPERTIES: (
                "R_QMSetObjectProperties",
                stubs.SetProperties,
                self._set_properties,
            ),
            Opnum.PATH_TO_FORMAT: (
                "R_QMObjectPathToObjectFormat",
                stubs.PathToFormat,
                self._path_to_format,
            ),
        }
        return {opnum: RpcMethod(*row) for opnum, row in rows.items()}

    # Creation

    def _create(self, call: RpcCall) -> None:
        """R_QMCreateObjectInternal ([MS-MQMP] 3.1.4.5, 3.2.4.1): arguments, rights, then paths."""
        asked = call.args(stubs.CreateObject)
        caller = self._clients.caller(call)
        answer_when_done(self._driver, call, lambda: self._created(asked, caller))

    def _created(self, asked: stubs.CreateObject, caller: Caller) -> Future[ManagedQueue]:
        if asked.object_type != QUEUE:
            raise InvalidParameter(f"an object of type {asked.object_type}, not {QUEUE}")
        local = self._private_path(asked.path)
        given = checked_descriptor(asked.size, asked.descriptor)
        _check_depth(asked.values)
        properties, path = created_properties(asked.propids, asked.values)
        if path is not None and fold(self._private_path(path)) != fold(local):
            raise IllegalPropertyValue(f"PATHNAME {path}: not {asked.path}")
        self._clients.require(caller, "admin", shown(local))
        if given is not None:
            properties["permissions"] = format_sddl(given)
        return self._manager.create_queue(asked.path, caller, **properties)

    def _private_path(self, path: str) -> str:
        """A private queue of this computer, by its path ([MS-MQMP] 3.1.4.5, 3.1.4.11)."""
        local = self._manager.resolver.local(parse_path_name(path))
        if local is None or not split_queue(local).private:
            raise IllegalQueuePathName(f"{path}: not a private queue of this computer")
        if split_queue(local).subqueue or split_queue(local).suffix:
            raise IllegalQueuePathName(f"{path}: a queue that the manager itself makes")
        return local

    # One that is there

    def _target(self, target: stubs.ObjectFormat, caller: Caller, *, admin: bool) -> ManagedQueue:
        """The private queue that is named ([MS-MQMP] 3.1.4.6 to 3.1.4.10), after rights (SS-02)."""
        found: QueueFormatArgument | None = target.value
        if found is None:
            raise InvalidParameter("no queue is named")
        local = self._manager.resolver.local(found.queue_format().name())
        if local is None:
            raise QueueNotFound("not a queue of this manager")
        self._clients.require(caller, "admin" if admin else "watch", shown(local))
        queue = self._manager.find_queue(shown(local))
        if queue.kind is not QueueKind.PRIVATE or queue.deleted:
            raise QueueNotFound(f"{shown(local)}: no private queue")
        return queue

    def _set_security(self, call: RpcCall) -> None:
        """R_QMSetObjectSecurityInternal ([MS-MQMP] 3.1.4.6): the named parts change."""
        asked = call.args(stubs.SetSecurity)
        caller = self._clients.caller(call)

        def changed() -> Future[None]:
            queue = self._target(asked.target, caller, admin=True)
            given = checked_descriptor(asked.size, asked.descriptor)
            if given is None:
                raise InvalidParameter("no security descriptor is given")
            before = queue.properties.permissions or OPEN_TO_ALL
            after = merged(before, given, asked.information)
            return self._manager.set_permissions(queue, after, caller)

        answer_when_done(self._driver, call, changed)

    def _get_security(self, call: RpcCall) -> None:
        """R_QMGetObjectSecurityInternal ([MS-MQMP] 3.1.4.7): never more than there is room for."""
        asked = call.args(stubs.GetSecurity)
        caller = self._clients.caller(call)

        def found() -> Structure:
            queue = self._driver.call(lambda: self._target(asked.target, caller, admin=False))
            sddl = self._driver.call(lambda: self._manager.permissions(queue, caller))
            data = selected(sddl, asked.information)
            fits = len(data) <= asked.size
            result = OK if fits else SecurityDescriptorTooSmall.hresult
            return stubs.SizedBytes.of(data if fits else b"", len(data), asked.size, result)

        answer(call, found, lambda result: stubs.SizedBytes.of(b"", 0, asked.size, result))

    def _delete(self, call: RpcCall) -> None:
        """R_QMDeleteObject ([MS-MQMP] 3.1.4.8)."""
        asked = call.args(stubs.Target)
        caller = self._clients.caller(call)

        def deleted() -> Future[None]:
            queue = self._target(asked.target, caller, admin=True)
            return self._manager.delete_queue(shown(queue.name), caller)

        answer_when_done(self._driver, call, deleted)

    def _get_properties(self, call: RpcCall) -> None:
        """R_QMGetObjectProperties ([MS-MQMP] 3.1.4.9)."""
        asked = call.args(stubs.GetProperties)
        caller = self._clients.caller(call)
        _check_depth(asked.values)

        def found() -> Structure:
            queue = self._target(asked.target, caller, admin=False)
            authorize_queue(caller, QueueRights.GET_QUEUE_PROPERTIES, queue)
            values = values_of(self._manager, queue, asked.propids, asked.values)
            return GetInfoResults(values, OK)

        def failed(result: int) -> Structure:
            return GetInfoResults(asked.values, result)

        answer(call, lambda: self._driver.call(found), failed)

    def _set_properties(self, call: RpcCall) -> None:
        """R_QMSetObjectProperties ([MS-MQMP] 3.1.4.10): all of them or none (SS-14)."""
        asked = call.args(stubs.SetProperties)
        caller = self._clients.caller(call)

        def changed() -> Future[None]:
            queue = self._target(asked.target, caller, admin=True)
            if asked.propids is None or asked.values is None:
                raise InvalidParameter("no properties are given")
            _check_depth(asked.values)
            changes = changed_properties(asked.propids, asked.values)
            return self._manager.change_queue(queue, caller, **changes)

        answer_when_done(self._driver, call, changed)

    def _path_to_format(self, call: RpcCall) -> None:
        """R_QMObjectPathToObjectFormat ([MS-MQMP] 3.1.4.11): a private format name."""
        asked = call.args(stubs.PathToFormat)
        caller = self._clients.caller(call)

        def found() -> Structure:
            empty: QueueFormatArgument | None = asked.target.value
            if empty is None or empty.format_type != QueueFormatType.UNKNOWN:
                raise InvalidParameter("the place for the name is to be empty")
            local = self._private_path(asked.path)
            self._clients.require(caller, "watch", shown(local))
            queue = self._manager.find_queue(shown(local))
            name = PrivateName(self._manager.identity, queue.number)
            target = stubs.ObjectFormat(QUEUE, QueueFormatArgument.of(name))
            return stubs.FormatResult(target, OK)

        def failed(result: int) -> Structure:
            return stubs.FormatResult(asked.target, result)

        answer(call, lambda: self._driver.call(found), failed)


def _check_depth(values: tuple[VariantArgument, ...]) -> None:
    """Refuse variants that lie too deep in each other ([MS-MQMQ] 2.2.13)."""
    try:
        for value in values:
            value.check_depth()
    except Malformed as error:
        raise RpcFault(RpcStatus.BAD_STUB_DATA) from error
