"""Direct format names: a queue by protocol, address and name ([MS-MQMQ] 2.1.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address

from openmsmq.errors import IllegalFormatName
from openmsmq.limits import U16_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.parts import (
    Fault,
    QueueParts,
    Suffix,
    check_computer,
    check_queue,
    fold,
    host_key,
    join_queue,
    refused_as,
    show,
    split_queue,
)

PREFIX = "DIRECT="
_IPX = re.compile(r"[0-9A-F]{1,8}[:.][0-9A-F]{1,12}", re.IGNORECASE | re.ASCII)
_BRACKETED = re.compile(r"\[([^\]]*:[^\]]*)\](?::(.*))?")
_PORT = re.compile(r"[0-9]{0,5}", re.ASCII)


class Protocol(StrEnum):
    """How the computer of a direct format name is reached ([MS-MQMQ] 2.1.2)."""

    TCP = "TCP"
    OS = "OS"
    HTTP = "HTTP"
    HTTPS = "HTTPS"
    IPX = "IPX"


_PROTOCOLS = {**Protocol.__members__, "SPX": Protocol.IPX}  # SPX: [MS-MQQB] 2.2.4
DEFAULT_PORTS = {Protocol.HTTP: 80, Protocol.HTTPS: 443}


@dataclass(frozen=True, slots=True, eq=False)
class DirectName(FormatName):
    r"""A queue by protocol, address and name, `DIRECT=OS:HOST\private$\orders` ([MS-MQMQ] 2.1.2).

    A parsed name keeps its spelling, so that what is forwarded is what was received.
    """

    protocol: Protocol
    address: str
    "Computer name, IP address without brackets, or IPX network and host number."
    queue: str = ""
    "Empty for a queue of the computer itself, which `suffix` then names."
    private: bool = False
    subqueue: str = ""
    suffix: Suffix = Suffix.NONE
    port: int | None = None
    "Only HTTP and HTTPS have one; None is the default, 80 or 443."
    wire_text: str = field(init=False)
    "The name without `DIRECT=`, as packets and remote calls carry it."
    key: str = field(init=False, repr=False)
    "The one spelling all equal names share."

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire_text", self._canonical_text())
        with refused_as(IllegalFormatName, str(self)):
            self._check()
        object.__setattr__(self, "key", self._canonical_key())

    @staticmethod
    def from_wire(text: str) -> DirectName:
        """The name whose text without `DIRECT=` is `text`."""
        return _from_wire(text)

    @property
    def queue_parts(self) -> QueueParts:
        """What follows the address."""
        return QueueParts(self.queue, self.private, self.subqueue, self.suffix)

    @property
    def is_read_only(self) -> bool:
        return self.suffix.is_read_only

    @property
    def host_key(self) -> str:
        """The computer as it is compared, with the port if that is not the usual one."""
        host = host_key(self.address)
        if self.port in (None, DEFAULT_PORTS.get(self.protocol)):
            return host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def __str__(self) -> str:
        return PREFIX + self.wire_text

    def _canonical_text(self) -> str:
        queue = join_queue(self.queue_parts)
        if self.protocol not in DEFAULT_PORTS:
            return f"{self.protocol}:{self.address}\\{queue}"
        host = f"[{self.address}]" if ":" in self.address else self.address
        port = "" if self.port is None else f":{self.port}"
        return f"{self.protocol}://{host}{port}/msmq/{queue.replace(chr(92), '/')}"

    def _canonical_key(self) -> str:
        address = self.host_key
        if self.protocol is Protocol.IPX:
            network, _, host = address.replace(".", ":").partition(":")
            address = f"{int(network, 16):08X}:{int(host, 16):012X}"
        return fold(f"{PREFIX}{self.protocol}:{address}\\{join_queue(self.queue_parts)}")

    def _check(self) -> None:
        check_computer(self.address)
        check_queue(self.queue_parts)
        if self.protocol in DEFAULT_PORTS:
            self._check_url()
        elif self.port is not None:
            raise Fault(f"{self.protocol} names have no port")
        elif self.protocol is Protocol.TCP:
            _check_ip(self.address)
        elif self.protocol is Protocol.IPX and not _IPX.fullmatch(self.address):
            raise Fault(f"{show(self.address)} is not a network and a host number in hexadecimal")

    def _check_url(self) -> None:
        if ":" in self.address:
            _check_ip(self.address)
        if re.search(r"[/\[\]]", self.address):
            raise Fault(f"{show(self.address)} is no host of an HTTP address")
        if "/" in self.queue or "/" in self.subqueue:
            raise Fault("a slash separates the parts of an HTTP address; no part can have one")
        if self.port is not None and not 0 < self.port <= U16_MAX:
            raise Fault(f"the port {self.port} is not between 1 and {U16_MAX}")


@lru_cache(maxsize=1024)
def _from_wire(text: str) -> DirectName:
    """The same names come again and again; none that passes the checks is long."""
    with refused_as(IllegalFormatName, PREFIX + text):
        spelled, _, rest = text.partition(":")
        protocol = _PROTOCOLS.get(fold(spelled))
        if protocol is None:
            raise Fault(f"the protocol is {show(spelled)}, not one of {', '.join(_PROTOCOLS)}")
        if protocol in DEFAULT_PORTS:
            address, port, queue = _split_url(rest)
        else:
            address, backslash, queue = rest.partition("\\")
            if not backslash:
                raise Fault("a backslash and a queue must follow the address")
            address, port = _unbracketed(address) if protocol is Protocol.TCP else address, None
        parts = split_queue(queue)
    name = DirectName(protocol, address, *parts, port)
    object.__setattr__(name, "wire_text", text)
    return name


def _check_ip(address: str) -> None:
    try:
        ip_address(address)
    except ValueError:
        raise Fault(f"{show(address)} is no IP address; names of computers go with OS:") from None


def _unbracketed(address: str) -> str:
    """`[::1]` as `::1`: people know IPv6 addresses in brackets from URLs."""
    return address[1:-1] if address.startswith("[") and address.endswith("]") else address


def _split_url(rest: str) -> tuple[str, int | None, str]:
    """Split `//host[:port]/msmq/queue`, its separators slashes or backslashes."""
    before, slashes, rest = rest.replace("/", "\\").partition("\\\\")
    authority, _, rest = rest.partition("\\")
    directory, _, queue = rest.partition("\\")
    if before or not slashes or fold(directory) != "MSMQ":
        raise Fault("an HTTP address is //host[:port]/msmq/queue")
    bracketed = _BRACKETED.fullmatch(authority)
    host, port = bracketed.groups("") if bracketed else authority.partition(":")[::2]
    if not _PORT.fullmatch(port):
        raise Fault(f"the port {show(port)} is not a number of at most five digits")
    return host, int(port) if port else None, queue
