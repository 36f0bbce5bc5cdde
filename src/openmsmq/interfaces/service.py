"""Remote calls as a part of a running service: who may log on, which ports, which interfaces."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Final, Protocol

from openmsmq.access.users import ANONYMOUS, User, Users
from openmsmq.clock import Clock
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import AccessDenied, StorageError
from openmsmq.interfaces.deadlines import Deadlines
from openmsmq.interfaces.endpoint_mapper.mapper import EndpointMapper, Registration
from openmsmq.interfaces.kerberos import Keytab, NegotiatedContext
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.limits import LISTENER_CONNECTIONS_MAX, TRANSACTION_IDLE_AFTER
from openmsmq.interfaces.listener import RpcListener, user_name
from openmsmq.interfaces.management.server import ManagementServer
from openmsmq.interfaces.management.stubs import MANAGEMENT
from openmsmq.interfaces.qm2qm.server import OldReadServer
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM
from openmsmq.interfaces.remote_read.server import DEFAULT_POLICY, RemoteReadServer
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.interfaces.supporting_server.queue_proxies import NameDirectory, QueuesElsewhere
from openmsmq.interfaces.supporting_server.roster import DependentRoster, OpenConnection
from openmsmq.interfaces.supporting_server.server import SupportingServer
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2
from openmsmq.names.parts import fold
from openmsmq.rpc.association import Association
from openmsmq.rpc.auth.context import AuthLevel, AuthType, SecurityContext
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmTarget
from openmsmq.rpc.auth.spnego import SpnegoAcceptor
from openmsmq.rpc.interface import RpcClient, RpcInterface
from openmsmq.rpc.management import ServerManagement
from openmsmq.rpc.server import RpcServer
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.types.caller import Caller

READ, ALTERNATE, MAPPER = "rpc", "rpc_alternate", "endpoint_mapper"
"Names of the listeners."
OFFERED: Final = {
    REMOTE_READ: "RemoteRead",
    MANAGEMENT: "Management",
    QM2QM: "QM2QM",
    QMCOMM: "QMComm",
    QMCOMM2: "QMComm2",
}
"Interfaces that the endpoint mapper knows."
USERS_CHECK_S: Final = 1.0
"Seconds between looks at the file of the users."
NETBIOS_NAME_SIZE: Final = 15
CHALLENGE_SIZE: Final = 8
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RpcSettings:
    """Where remote calls are taken, and how strong a login has to be."""

    host: str
    port: int | None = None
    alternate_port: int | None = None
    mapper_port: int | None = None
    policy: LevelPolicy = DEFAULT_POLICY
    connections_max: int = LISTENER_CONNECTIONS_MAX
    idle_after: float = TRANSACTION_IDLE_AFTER
    "Seconds after which a transaction that its client does not use is aborted."
    keytab: Path | None = None
    "The keys of this computer, with which users log on by Kerberos."
    supporting_clients_max: int = 0
    "Clients without a queue manager that may use this one; 0 if it is no supporting server."


class RefusalCounter(Protocol):
    """Counts what was refused, for metrics."""

    def refused(self, reason: str) -> None:
        """Something was refused."""
        ...

    def login_refused(self) -> None:
        """A login was refused."""
        ...


class RpcService:
    """The listeners for remote calls of one manager; they share associations and handles."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        users: Users,
        clock: Clock,
        settings: RpcSettings,
        counter: RefusalCounter,
        elsewhere: QueuesElsewhere | None = None,
        directory: NameDirectory | None = None,
    ) -> None:
        """`elsewhere` reads queues of other computers for dependent clients.

        `directory` finds public queues for them.
        """
        self._users = users
        self._clock = clock
        self._settings = settings
        self._counter = counter
        self._keytab = Keytab(settings.keytab) if settings.keytab is not None else None
        self._target = NtlmTarget(local.name.upper()[:NETBIOS_NAME_SIZE], "WORKGROUP")
        self.reading = RemoteReadServer(
            local,
            driver,
            port=0,
            now=_loop_time,
            random_bytes=os.urandom,
            caller_of=self._caller_of,
            policy=settings.policy,
        )
        self.management = ManagementServer(
            local, driver, caller_of=self._caller_of, policy=settings.policy
        )
        self.old_reading = OldReadServer(
            self.reading, driver, now=_loop_time, random_bytes=os.urandom
        )
        self.supporting = SupportingServer(
            local,
            driver,
            caller_of=self._caller_of,
            policy=settings.policy,
            clients_max=settings.supporting_clients_max,
            now=_loop_time,
            random_bytes=os.urandom,
            opening=self.old_reading.opening,
            elsewhere=elsewhere,
        )
        self.supporting.queues.directory = directory
        self.dependents = DependentRoster(self.supporting, self._connections_of, _loop_time)
        self._supporting_deadlines = Deadlines(self.supporting.messages)
        self.supporting.messages.on_deadline = self._supporting_deadlines.changed
        self._old_deadlines = Deadlines(self.old_reading)
        self.old_reading.on_deadline = self._old_deadlines.changed
        self._deadlines = Deadlines(self.reading.reads)
        self.reading.reads.on_deadline = self._deadlines.changed
        self._mapper = EndpointMapper(())
        self.server = self._make_server(
            self.reading.interface,
            self.reading.transactions.interface,
            self.management.interface,
            self.old_reading.interface,
            self.supporting.interface,
            self.supporting.message_interface,
        )
        self._mapper_server = self._make_server(self._mapper.interface)
        self._known: dict[str, User] = {}
        "The users when the file was looked at last."
        self._check: asyncio.TimerHandle | None = None
        self.connected: list[RpcListener] = []
        "Listeners that accept connections."

    def _make_server(self, *interfaces: RpcInterface) -> RpcServer:
        least = self._settings.policy.least
        offered = (*interfaces, ServerManagement(interfaces).interface)
        server = RpcServer(offered, os.urandom, self._make_context, least)
        server.on_refused = self._refused
        return server

    def listeners(self) -> dict[str, RpcEndpoint]:
        """Those that are configured, by name, in the order in which they start."""
        settings = self._settings
        found = {}
        for name, port, server in (
            (READ, settings.port, self.server),
            (ALTERNATE, settings.alternate_port, self.server),
            (MAPPER, settings.mapper_port, self._mapper_server),
        ):
            if port is not None:
                listener = RpcListener(server, connections_max=settings.connections_max)
                found[name] = RpcEndpoint(self, listener, name, settings.host, port)
        return found

    # For the listeners

    def started(self, name: str, listener: RpcListener, port: int) -> None:
        """A listener accepts connections: R_GetServerPort and the endpoint mapper follow it.

        All interfaces are at the mapped port ([MS-MQMP] 3.1.4.24).
        """
        self.connected.append(listener)
        if name != MAPPER:
            self.reading.port = port  # the alternate one, if there are both ([MS-MQRR] 3.1.4.1)
            for syntax, words in OFFERED.items():
                place = Registration(syntax, f"Message Queuing - {words}", self._address, port)
                self._mapper.registrations.append(place)
        if self._check is None:
            self._check_users()
            if not any(self._users):
                log_event(_log, "no users: add one with openmsmq user add", listener=name)

    def stopped(self, listener: RpcListener) -> None:
        """A listener has stopped; with the last one there is nothing more to do."""
        if listener in self.connected:
            self.connected.remove(listener)
        if not self.connected:
            self._deadlines.stop()
            self._old_deadlines.stop()
            self._supporting_deadlines.stop()
            if self._check is not None:
                self._check.cancel()

    def _connections_of(self, association: Association) -> list[OpenConnection]:
        """The connections of a client, at whichever port."""
        return [one for listener in self.connected for one in listener.of(association)]

    @property
    def _address(self) -> IPv4Address:
        """What the endpoint mapper names; clients know the address that they have connected to."""
        try:
            found = ip_address(self._settings.host)
        except ValueError:
            return IPv4Address(0)
        return found if isinstance(found, IPv4Address) else IPv4Address(0)

    # Who calls

    def _make_context(self, auth_type: int) -> SecurityContext | None:
        challenge, now = os.urandom(CHALLENGE_SIZE), self._clock.now()
        ntlm = NtlmAcceptor(self._password_hash, self._target, challenge, now)
        if auth_type == AuthType.NTLM:
            return ntlm
        if auth_type == AuthType.KERBEROS and self._keytab is not None:
            return self._keytab.acceptor(auth_type)
        if auth_type != AuthType.SPNEGO:
            return None
        spnego = SpnegoAcceptor(ntlm)
        return spnego if self._keytab is None else NegotiatedContext(self._keytab, spnego)

    def _password_hash(self, domain: str, user: str) -> bytes | None:
        """Users are those of this manager, whichever domain a client names."""
        return self._users.password_hash(user)

    def _caller_of(self, client: RpcClient) -> Caller:
        """What a client may do; without a role it may do nothing."""
        is_anonymous = client.level == AuthLevel.NONE
        found = self._users.find(ANONYMOUS if is_anonymous else user_name(client.principal))
        if found is None:
            raise AccessDenied("there is no such user")
        return Caller(found.name, found.grant)

    def _check_users(self) -> None:
        """Close the connections of users that were removed, or got another role or password."""
        self._check = asyncio.get_running_loop().call_later(USERS_CHECK_S, self._check_users)
        try:
            self._users.refresh()
        except StorageError as error:
            log_event(_log, "users cannot be read", level=logging.ERROR, error=error)
        idle_after = self._settings.idle_after
        aborted = self.reading.transactions.abort_idle(idle_after)
        aborted += self.supporting.units.abort_idle(idle_after)
        if aborted:
            self._counter.refused("rpc: idle transaction")
            log_event(_log, "transaction aborted", reason="idle", count=aborted)
        now = {fold(user.name): user for user in self._users}
        gone = {name for name, user in self._known.items() if now.get(name) != user}
        self._known = now
        if gone:
            for listener in self.connected:
                listener.close_users(gone)

    def _refused(self, reason: str, address: str, detail: str) -> None:
        self._counter.refused(f"rpc: {reason}")
        if reason == "authentication":
            self._counter.login_refused()
        level = logging.WARNING
        log_event(_log, "remote call refused", level=level, reason=reason, peer=address, why=detail)


class RpcEndpoint:
    """A listener of the service, with its port."""

    def __init__(
        self, service: RpcService, listener: RpcListener, name: str, host: str, port: int
    ) -> None:
        self._service = service
        self._listener = listener
        self._name, self._host, self._port = name, host, port

    async def start(self) -> tuple[str, int]:
        """Accept connections; where."""
        address = await self._listener.start(self._port, self._host)
        self._service.started(self._name, self._listener, address[1])
        return address

    async def stop(self, reason: str) -> None:
        """Accept no more connections; what clients have read and not ended returns."""
        await self._listener.stop()
        self._service.stopped(self._listener)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
