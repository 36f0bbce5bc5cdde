"""Who calls a supporting server: the login, its rights, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from openmsmq.engine.authorization import authorize, authorize_access
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import AccessDenied, DependWksLicenseOverflow
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall, RpcClient
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.access import Access
from openmsmq.types.caller import Caller, Right


@dataclass(slots=True, eq=False)
class DependentClient:
    """A client that has something open."""

    number: int
    "By which people call it."
    association: Association
    who: str
    "The user who opened something first."
    began: float
    open: int = 0
    "Queues and transactions."


class Clients:
    """The dependent clients of a manager."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        *,
        caller_of: Callable[[RpcClient], Caller],
        policy: LevelPolicy,
        clients_max: int,
        now: Callable[[], float],
    ) -> None:
        """`caller_of` says what a client is entitled to, or refuses it with `AccessDenied`."""
        self._manager = manager
        self._driver = driver
        self._caller_of = caller_of
        self._policy = policy
        self._clients_max = clients_max
        self._now = now
        self._open: dict[Association, DependentClient] = {}
        "Those that have something open, the oldest first."
        self._number = 0

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[DependentClient]:
        return iter(self._open.values())

    def caller(self, call: RpcCall) -> Caller:
        """Who calls, if its login is strong enough ([MS-MQMP] 2.1, 5.1; SS-04)."""
        address = call.client.address
        least = self._policy.least_to_open(address, workgroup=False, anonymous_reads=False)
        if call.client.level < least:
            raise RpcFault(RpcStatus.ACCESS_DENIED)
        return self._caller_of(call.client)

    def require(self, caller: Caller, right: Right, *queues: str) -> None:
        """Refuse what the role of a caller does not allow ([MS-MQMP] 2.1; SS-02)."""
        try:
            authorize(caller, right, *queues)
        except AccessDenied as error:
            self._denied(caller, right, queues, error)
            raise

    def require_access(self, caller: Caller, access: Access, queue: str) -> None:
        """Refuse to open a queue for what the role does not allow ([MS-MQMP] 2.1; SS-02)."""
        try:
            authorize_access(caller, access, queue)
        except AccessDenied as error:
            self._denied(caller, "open", (queue,), error)
            raise

    def _denied(
        self, caller: Caller, act: str, queues: tuple[str, ...], error: AccessDenied
    ) -> None:
        target, why = ", ".join(queues), error.detail
        self._driver.call(lambda: self._manager.audit.denied(caller, act, target, why))

    def enter(self, association: Association, caller: Caller) -> None:
        """A client opens something; refuse more clients than the licence allows (SS-08)."""
        client = self._open.get(association)
        if client is None:
            if len(self._open) >= self._clients_max:
                raise DependWksLicenseOverflow(
                    f"{self._clients_max} clients have queues open (rpc.supporting_clients_max)"
                )
            self._number += 1
            client = DependentClient(self._number, association, caller.principal, self._now())
            self._open[association] = client
        client.open += 1

    def leave(self, association: Association) -> None:
        """Something that a client had open is closed."""
        client = self._open[association]
        client.open -= 1
        if not client.open:
            del self._open[association]
