"""Where a manager takes remote calls, who calls, and how calls are protected."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.endpoint_mapper.stubs import PORT as MAPPER_PORT
from openmsmq.interfaces.kerberos import initiator as kerberos_initiator
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parse import parse_name
from openmsmq.names.path import THIS_COMPUTER, PathName
from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthLevel, AuthType
from openmsmq.rpc.auth.ntlm import NtlmCredentials, NtlmInitiator
from openmsmq.security.nt_hash import nt_hash

PORT: Final = 2103
"That of RemoteRead if nothing else is said ([MS-MQRR] 3.1.4.1)."
LEVELS: Final = {
    "none": AuthLevel.NONE,
    "connect": AuthLevel.CONNECT,
    "integrity": AuthLevel.INTEGRITY,
    "privacy": AuthLevel.PRIVACY,
}


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A manager elsewhere, as a client calls it."""

    host: str
    port: int = PORT
    computer: str = ""
    "What the manager is called in names of queues; the host if that is empty."
    user: str = ""
    password_hash: bytes = field(default=b"", repr=False)
    domain: str = ""
    level: AuthLevel = AuthLevel.PRIVACY
    kerberos: bool = False
    "Log on with the ticket that the user has, instead of a password."
    mapper_port: int = MAPPER_PORT
    "Where the endpoint mapper is asked if `port` is 0."
    timeout: float = 30.0
    "Seconds for an answer, beside the time that a read waits for a message."

    @classmethod
    def of(
        cls,
        host: str,
        *,
        port: int = PORT,
        computer: str = "",
        user: str = "",
        password: str = "",
        auth: str = "ntlm",
        level: str = "privacy",
        mapper_port: int = MAPPER_PORT,
        timeout: float = 30.0,
    ) -> RemotePlace:
        """The place that a program names; `user` may be `DOMAIN\\user`."""
        if level not in LEVELS:
            raise InvalidParameter(f"level {level!r}: one of {', '.join(LEVELS)}")
        if auth not in ("ntlm", "kerberos"):
            raise InvalidParameter(f"auth {auth!r}: ntlm or kerberos")
        kerberos = auth == "kerberos"
        if kerberos and (user or password):
            raise InvalidParameter("Kerberos takes the ticket of `kinit`: no user, no password")
        if not user and level != "none" and not kerberos:
            raise InvalidParameter(
                "a user and a password are needed, or auth='kerberos', or level='none'"
            )
        if not 0 <= port <= 0xFFFF or not 0 < mapper_port <= 0xFFFF:
            raise InvalidParameter(f"port {port or mapper_port}: a number from 1 to 65535")
        domain, _, name = user.rpartition("\\")
        digest = nt_hash(password)
        number = LEVELS[level]
        return cls(
            host, port, computer, name, digest, domain, number, kerberos, mapper_port, timeout
        )

    def channel(self) -> SecureChannel:
        """How a new connection logs on."""
        if self.level == AuthLevel.NONE:
            return SecureChannel()
        if self.kerberos:
            context = kerberos_initiator(self.computer or self.host)
            return SecureChannel(self.level, AuthType.KERBEROS, 0, context)
        credentials = NtlmCredentials(self.user, self.password_hash, self.domain)
        ntlm = NtlmInitiator(credentials, os.urandom(8), os.urandom(16), time.time())
        return SecureChannel(self.level, AuthType.NTLM, 0, ntlm)

    def queue_name(self, text: str) -> FormatName:
        r"""The format name to open: `orders` and `.\private$\orders` mean queues of the manager."""
        name = parse_name(text)
        if not isinstance(name, PathName):
            return name
        computer = name.computer
        if computer == THIS_COMPUTER:
            computer = self.computer or self.host
        protocol = Protocol.TCP if _is_address(computer) else Protocol.OS
        return DirectName(protocol, computer, *name.queue_parts)


def _is_address(computer: str) -> bool:
    try:
        ip_address(computer)
    except ValueError:
        return False
    return True
