"""Who calls a supporting server: the login, its rights, and how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

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
    ) -> None:
        """`caller_of` says what a client is entitled to, or refuses it with `AccessDenied`."""
        self._manager = manager
        self._driver = driver
        self._caller_of = caller_of
        self._policy = policy
        self._clients_max = clients_max
        self._open: Counter[Association] = Counter()
        "What each client has open: queues and transactions."

    def __len__(self) -> int:
        return len(self._open)

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

    def enter(self, association: Association) -> None:
        """A client opens something; refuse more clients than the licence allows (SS-08)."""
        if association not in self._open and len(self._open) >= self._clients_max:
            raise DependWksLicenseOverflow(
                f"{self._clients_max} clients have queues open (rpc.supporting_clients_max)"
            )
        self._open[association] += 1

    def leave(self, association: Association) -> None:
        """Something that a client had open is closed."""
        self._open[association] -= 1
        if not self._open[association]:
            del self._open[association]
