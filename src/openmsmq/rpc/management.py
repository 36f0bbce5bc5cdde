"""The interface every RPC server has: what interfaces there are, and whether it listens.

(C706 appendix Q, "mgmt".) Tools that list interfaces ask for it. Nothing can be stopped through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Annotated, Any, Final

from openmsmq.rpc.interface import RpcCall, RpcInterface, RpcMethod
from openmsmq.rpc.limits import INTERFACES_MAX, PRINCIPAL_NAME_MAX
from openmsmq.rpc.ndr.kinds import ByteArray, IntegerArray, NdrKind, Pointer, read_elements
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope
from openmsmq.rpc.ndr.structure import IntegerRange, Structure, nested, structure
from openmsmq.rpc.status import RpcStatus
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U16, U32, Guid

MANAGEMENT: Final = SyntaxId.of("afa8bd80-7d8a-11c9-bef4-08002b102989", 1)
UNKNOWN_AUTHENTICATION: Final = 1747
"RPC_S_UNKNOWN_AUTHN_SERVICE: the server has no name for such a login."


class ManagementOpnum(IntEnum):
    """Operations of the interface (C706 appendix Q)."""

    INQ_IF_IDS = 0
    INQ_STATS = 1
    IS_SERVER_LISTENING = 2
    STOP_SERVER_LISTENING = 3
    INQ_PRINC_NAME = 4


@structure
class OfferedInterface(Structure):
    """rpc_if_id_t."""

    uuid: Guid
    major: U16
    minor: U16


class InterfaceVector(NdrKind):
    """rpc_if_id_vector_t: pointers after their count, and its copy before it (C706 14.3.7.2)."""

    alignment = widest = 4
    _element: Final = Pointer(nested(OfferedInterface))

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Callable[[], tuple[Any, ...]]:
        capacity = reader.number("I", f"{name}.max_count")
        count = reader.number("I", f"{name}.count")
        if count != capacity or count > INTERFACES_MAX:
            reader.fail(name, f"{count} of {capacity} interfaces")
        return read_elements(reader, self._element, name, count)

    def write(self, writer: NdrWriter, value: tuple[OfferedInterface, ...], scope: Scope) -> None:
        writer.number("I", len(value))
        writer.number("I", len(value))
        for one in value:
            self._element.write(writer, one, {})


@structure
class Nothing(Structure):
    """The arguments of three of the operations: none."""


@structure
class OfferedInterfaces(Structure):
    """What inq_if_ids answers."""

    interfaces: Annotated[tuple[OfferedInterface, ...] | None, Pointer(InterfaceVector())]
    status: U32


@structure
class StatisticsCount(Structure):
    """inq_stats: how many numbers are wanted."""

    count: U32


@structure
class ServerStatistics(Structure):
    """What inq_stats answers."""

    count: U32
    values: Annotated[tuple[int, ...], IntegerArray("I", most=0, size_is="count")]
    status: U32


@structure
class ServerListens(Structure):
    """What is_server_listening answers."""

    status: U32
    listens: U32


@structure
class ManagementStatus(Structure):
    """What stop_server_listening answers."""

    status: U32


@structure
class PrincipalNameArguments(Structure):
    """inq_princ_name: for which kind of login, and how long the answer may be."""

    authentication: U32
    size: Annotated[int, "I", IntegerRange(1, PRINCIPAL_NAME_MAX)]


@structure
class PrincipalName(Structure):
    """What inq_princ_name answers: a string with its null."""

    name: Annotated[bytes, ByteArray(most=PRINCIPAL_NAME_MAX, varying=True)]
    status: U32


class ServerManagement:
    """Answers for the interfaces of a server."""

    def __init__(self, interfaces: Iterable[RpcInterface]) -> None:
        methods = {
            ManagementOpnum.INQ_IF_IDS: ("inq_if_ids", Nothing, self._interfaces),
            ManagementOpnum.INQ_STATS: ("inq_stats", StatisticsCount, self._statistics),
            ManagementOpnum.IS_SERVER_LISTENING: ("is_server_listening", Nothing, self._listens),
            ManagementOpnum.STOP_SERVER_LISTENING: ("stop_server_listening", Nothing, self._stop),
            ManagementOpnum.INQ_PRINC_NAME: (
                "inq_princ_name",
                PrincipalNameArguments,
                self._principal,
            ),
        }
        self.interface = RpcInterface(
            "management",
            MANAGEMENT,
            {
                opnum: RpcMethod(name, arguments, handle, needs_authentication=False)
                for opnum, (name, arguments, handle) in methods.items()
            },
        )
        known = (*(one.syntax for one in interfaces), MANAGEMENT)
        self._offered = tuple(OfferedInterface(one.uuid, one.major, one.minor) for one in known)

    def _interfaces(self, call: RpcCall) -> None:
        """rpc__mgmt_inq_if_ids: the interfaces that can be bound."""
        call.respond(OfferedInterfaces(self._offered, 0))

    def _statistics(self, call: RpcCall) -> None:
        """rpc__mgmt_inq_stats: none, which is for metrics to tell."""
        call.respond(ServerStatistics(0, (), 0))

    def _listens(self, call: RpcCall) -> None:
        """rpc__mgmt_is_server_listening: it does, or there would be no answer."""
        call.respond(ServerListens(0, 1))

    def _stop(self, call: RpcCall) -> None:
        """rpc__mgmt_stop_server_listening: not for callers to do."""
        call.respond(ManagementStatus(RpcStatus.ACCESS_DENIED))

    def _principal(self, call: RpcCall) -> None:
        """rpc__mgmt_inq_princ_name: NTLM needs no name of the server."""
        call.respond(PrincipalName(b"\0", UNKNOWN_AUTHENTICATION))
