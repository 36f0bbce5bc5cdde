"""Where the engine meets the protocols that carry messages to other managers.

A transport registers for the kinds of address that it serves (`Dispatcher.register`). The engine
tells it which outgoing queues have messages (`ready`, `withdrawn`, `retry`); it takes them when it
can (`Dispatcher.take`) and says what became of them (`Dispatcher.delivered` and `Confirmations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol
from uuid import UUID

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.names import direct
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName
from openmsmq.names.format import (
    ConnectorName,
    MachineName,
    MulticastName,
    PrivateName,
    PublicName,
    parse_format_name,
)
from openmsmq.types.outgoing import TransferState


class AddressKind(StrEnum):
    """Addresses that one transport serves."""

    BINARY = "binary"
    "DIRECT=OS, DIRECT=TCP, and managers by their identity: [MS-MQQB]."
    HTTP = "HTTP"
    "DIRECT=HTTP and DIRECT=HTTPS: [MC-MQSRM]."
    MULTICAST = "multicast"
    "MULTICAST: [MC-MQSRM] over PGM."


class RouteStatus(NamedTuple):
    """How the way to the destination of an outgoing queue stands, for people."""

    state: str
    next_hop: str = ""
    connected_since: int | None = None
    failures: int = 0
    next_retry: int | None = None
    last_error: str = ""
    resends: int = 0


class ResendStatus(NamedTuple):
    """When transactional messages without an acknowledgement are sent again."""

    due: float | None = None
    "In this many seconds; None if none waits for one."
    interval: float = 0.0
    "Seconds from the last time to then."


class PeerSessions(NamedTuple):
    """The sessions that say they are of one manager."""

    addresses: tuple[str, ...] = ()
    "Where the open ones come from."
    claimed_from: tuple[str, ...] = ()
    "The places from which several claimed its identity at the same time."


class Transport(Protocol):
    """A protocol that carries messages to other managers, while it runs."""

    def ready(self, queue: ManagedQueue) -> None:
        """An outgoing queue has messages that may be sent, or its last one left."""
        ...

    def withdrawn(self, queue: ManagedQueue) -> None:
        """Messages of a queue must not be sent until it is ready again."""
        ...

    def retry(self, queue: ManagedQueue) -> None:
        """Make the next attempt to send now."""
        ...

    def offline(self) -> None:
        """The manager was taken offline: nothing comes from others, either."""
        ...

    def route(self, queue: ManagedQueue) -> RouteStatus:
        """How the way to the destination of a queue stands."""
        ...

    def resend(self, queue: ManagedQueue) -> None:
        """Send transactional messages again that are not acknowledged, now."""
        ...

    def resend_status(self, queue: ManagedQueue) -> ResendStatus:
        """When that is done next."""
        ...

    def sessions(self) -> Mapping[UUID, PeerSessions]:
        """The managers that are connected, as far as the protocol has sessions."""
        ...


class Transports:
    """The transports that run, by the kind of address that each serves."""

    def __init__(self) -> None:
        self._by_kind: dict[AddressKind, Transport] = {}
        self.is_online = True
        "ConnectionActive ([MS-MQDMPR] 3.1.1.1): there is a network to send to."

    def __iter__(self) -> Iterator[Transport]:
        return iter(dict.fromkeys(self._by_kind.values()))

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def add(self, kinds: Iterable[AddressKind], transport: Transport) -> None:
        """Let a transport serve addresses of some kinds."""
        for kind in kinds:
            assert kind not in self._by_kind, f"{kind} has a transport"
            self._by_kind[kind] = transport

    def of(self, kind: AddressKind) -> Transport | None:
        """The transport that serves addresses of a kind."""
        return self._by_kind.get(kind)

    def get(self, queue: ManagedQueue) -> Transport | None:
        """The transport for the messages of an outgoing queue."""
        kind = kind_of(queue.name)
        return None if kind is None else self._by_kind.get(kind)

    def serves(self, name: FormatName) -> bool:
        """Whether there is a transport for a destination."""
        return address_kind(name) in self._by_kind

    def is_reachable(self, name: FormatName) -> bool:
        """Whether messages for a destination can ever leave ([MS-MQQB] 3.1.7.4).

        What goes by the binary protocol may wait for a service that sends it.
        """
        if isinstance(name, PublicName):
            return False  # the directory would have to be asked first
        kind = address_kind(name)
        return kind is AddressKind.BINARY or kind in self._by_kind

    def can_send(self, queue: ManagedQueue) -> bool:
        """Whether messages of an outgoing queue may be sent at all."""
        transfer = queue.transfer
        return self.is_online and not queue.deleted and transfer is not None and transfer.is_open

    def ready(self, queue: ManagedQueue) -> None:
        """Add Message To Dispatch Collection ([MS-MQDMPR] 3.1.7.1.28), for all that is new."""
        if not self._by_kind or not self.can_send(queue):
            return
        transport = self.get(queue)
        if transport is not None:
            transport.ready(queue)
        elif queue.transfer is not None:
            queue.transfer.set_state(TransferState.NEED_VALIDATION)


def address_kind(name: FormatName) -> AddressKind | None:
    """What serves a destination; None for names that only a directory could resolve."""
    match name:
        case DirectName() if name.protocol in DEFAULT_PORTS:
            return AddressKind.HTTP
        case DirectName() if name.protocol in (direct.Protocol.OS, direct.Protocol.TCP):
            return AddressKind.BINARY
        case PrivateName() | PublicName() | MachineName() | ConnectorName():
            return AddressKind.BINARY
        case MulticastName():
            return AddressKind.MULTICAST
    return None


@lru_cache(maxsize=4096)
def kind_of(name: str) -> AddressKind | None:
    """The same for the name of an outgoing queue, which is asked for with every commit of it."""
    return address_kind(parse_format_name(name))
