"""Ways to other managers: where they are, whether they answer, and when to try again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.peers import Peer, place_of
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.queues.queue import Purpose, Queue
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import ConnectorName, MachineName, PrivateName, parse_format_name
from openmsmq.names.parts import host_key
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.network import Timer
from openmsmq.types.outgoing import ConnectionStatus, TransferState

PORT: Final = 1801
"[MS-MQQB] 1.9."
RETRY_FIRST: Final = 0.25
"Seconds until a lost connection is tried again; twice that the next time, and so on."
RETRY_MAX: Final = 5.0
"Session Retry Connect Timer ([MS-MQQB] 3.1.2.3): not longer than this."

RETRY_MAX_STRANGERS: Final = 600.0
"The same where only acknowledgements for strangers wait: whole networks can be named by one."
BOUNDED: Final = (Purpose.ANSWER, Purpose.UNSOLICITED)

WayKey = str | UUID
"A computer by name or address, or a manager by its identity."


class Way:
    """The way to one computer or manager, and the queues whose messages go there."""

    def __init__(self, key: WayKey) -> None:
        self.key = key
        self.peer: UUID | None = key if isinstance(key, UUID) else None
        "Who is there, as far as it is known."
        self.found_at = ""
        "The IP address where it was."
        self.link: Link | None = None
        "Its own connection, established or not."
        self.queues: set[Queue] = set()
        self.is_connecting = False
        self.failures = 0
        "Attempts in a row that failed."
        self.retry: Timer | None = None
        self.retry_at: float | None = None
        self.last_error = ""
        self.candidates: list[tuple[str, int]] = []
        "Addresses still to be tried."
        self.address = ""
        "The one that was tried last."

    @property
    def name(self) -> str:
        """For people."""
        return str(self.key)

    @property
    def delay(self) -> float:
        """Until the next attempt; it grows with every one that fails."""
        is_wanted = any(queue.properties.purpose not in BOUNDED for queue in self.queues)
        most = RETRY_MAX if is_wanted else RETRY_MAX_STRANGERS
        return float(min(RETRY_FIRST * 2 ** min(self.failures, 12), most))

    def became(self, state: TransferState) -> None:
        """The state of all outgoing queues that go this way."""
        for queue in self.queues:
            if queue.transfer is not None:
                queue.transfer.became(state)

    def lead_to(self, hosts: Iterable[str]) -> None:
        """The addresses that messages may go to (NextHops, [MS-MQMQ] 2.3.12.12)."""
        hops = next_hops(hosts)
        for queue in self.queues:
            if queue.transfer is not None:
                queue.transfer.next_hops = hops

    def note(self, status: ConnectionStatus, now: int, address: str, error: int = 0) -> None:
        """Remember how an attempt went (ConnectionHistory, [MS-MQQB] 3.1.5.2)."""
        for queue in self.queues:
            if queue.transfer is not None:
                queue.transfer.attempts.append(Attempt(status, now, error, (address,)))


def way_key(name: FormatName) -> WayKey | None:
    """Which way messages for a name go; None if none does from here ([MS-MQQB] 3.1.7.4)."""
    match name:
        case DirectName() if name.protocol in (Protocol.OS, Protocol.TCP):
            return host_key(name.address)
        case PrivateName() | MachineName() | ConnectorName():
            return name.guid
    return None


@lru_cache(maxsize=4096)
def way_key_of(name: str) -> WayKey | None:
    """The same for the name of an outgoing queue, which is asked for with every commit of it."""
    return way_key(parse_format_name(name))


class Addresses:
    """Where computers and managers are ([MS-MQQB] 3.1.5.2.1)."""

    def __init__(self, configured: Mapping[str, tuple[str, int]]) -> None:
        """`configured` are computers by name, and where they are."""
        self._configured = {host_key(name): address for name, address in configured.items()}

    def of_host(self, key: str) -> list[tuple[str, int]]:
        """Where a computer may be."""
        return [self._configured.get(key, (key, PORT))]

    def of_manager(self, known: Peer | None, came_from: Iterable[str]) -> list[tuple[str, int]]:
        """Where a manager may be: where it answered, or else where its sessions come from."""
        found: list[tuple[str, int]] = []
        if known is not None:
            found.append((known.address, known.port))
            for name in reversed(known.names):
                found += self.of_host(name)
            return list(dict.fromkeys(found))
        for address in came_from:
            places = self._configured.values()
            found += [place for place in places if place_of(place[0]) == place_of(address)]
            found.append((address, PORT))
        return list(dict.fromkeys(found))


def address_text(host: str, port: int) -> str:
    """Where a computer is, for people."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def next_hops(hosts: Iterable[str]) -> tuple[str, ...]:
    """Addresses as an outgoing queue shows them (NextHops, [MS-MQMQ] 2.3.12.12)."""
    return tuple(text for host in hosts if (text := _hop(host)))


def _hop(host: str) -> str:
    """An address as NextHops has it; empty for a name, which DNS has yet to tell about."""
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    return f"IP={address}" if address.version == 4 else f"IPv6={address}"
