"""A manager whose administrators call qmmgmt, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.management.server import ManagementServer
from openmsmq.interfaces.management.stubs import (
    MANAGEMENT,
    THE_MACHINE,
    ManagedObject,
    ManagedOpnum,
    ObjectType,
)
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.variants import NULL, VariantArgument
from openmsmq.names.format import parse_format_name
from openmsmq.properties.propid import Property
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.server import RpcServer
from openmsmq.rpc.status import RpcFault
from openmsmq.types.caller import Caller, Grant
from tests.strategies.rpc import Pair, make_acceptor, make_channel, numbers
from tests.unit.app_server.machines import InstantDriver

ADMIN = Caller("root", Grant("admin", user="root"))


def queue_object(name: str) -> ManagedObject:
    """A queue, as it is named in calls."""
    return ManagedObject(ObjectType.QUEUE, QueueFormatArgument.of(parse_format_name(name)))


def get_info(
    managed: ManagedObject, numbers: Sequence[int], value: VariantArgument = NULL
) -> stubs.GetInfo:
    """The arguments of R_QMMgmtGetInfo."""
    return stubs.GetInfo(managed, len(numbers), tuple(numbers), (value,) * len(numbers))


class Administrator:
    """A client of qmmgmt; every call returns its answer."""

    def __init__(
        self,
        manager: QueueManager,
        caller: Caller = ADMIN,
        *,
        policy: LevelPolicy | None = None,
        level: int = AuthLevel.NONE,
    ) -> None:
        self.server = ManagementServer(
            manager,
            InstantDriver(manager),
            caller_of=lambda client: caller,
            policy=policy or LevelPolicy(allow_unauthenticated=True),
        )
        self.rpc = RpcServer(
            [self.server.interface], numbers(), make_acceptor, lambda _: AuthLevel.NONE
        )
        self.pair = Pair(self.rpc, make_channel(level), syntax=MANAGEMENT)
        self.pair.run()

    def raw(self, opnum: int, stub: bytes) -> bytes | int:
        """The results of a call, or the status of a fault."""
        answers: list[bytes | Exception] = []
        self.pair.client.call(opnum, stub, answers.append)
        self.pair.run()
        [found] = answers
        if isinstance(found, RpcFault):
            return found.status
        assert isinstance(found, bytes), found
        return found

    def results(self, arguments: stubs.GetInfo) -> stubs.GetInfoResults:
        """R_QMMgmtGetInfo."""
        found = self.raw(ManagedOpnum.GET_INFO, arguments.encode())
        assert isinstance(found, bytes), hex(found)
        return stubs.GetInfoResults.decode(found)

    def refusal(self, managed: ManagedObject, *numbers: int) -> int:
        """The result of a call that fails; its values are those that were sent."""
        found = self.results(get_info(managed, numbers))
        assert found.values == (NULL,) * len(numbers)
        return found.result

    def get(self, name: str, *wanted: Property) -> list[Any]:
        """Values of a queue, or of the manager without a name."""
        managed = queue_object(name) if name else THE_MACHINE
        found = self.results(get_info(managed, [item.value for item in wanted]))
        assert found.result == 0, hex(found.result)
        for item, value in zip(wanted, found.values, strict=True):
            assert value.vartype in (item.vartype, NULL.vartype), item
        return [value.variant().value for value in found.values]

    def act(self, managed: ManagedObject, word: str) -> int:
        """R_QMMgmtAction."""
        stub = stubs.ActionArguments(managed, word).encode()
        found = self.raw(ManagedOpnum.ACTION, stub)
        assert isinstance(found, bytes), hex(found)
        return stubs.ActionResult.decode(found).result
