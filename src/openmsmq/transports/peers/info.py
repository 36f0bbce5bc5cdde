"""What is known about other queue managers, as values."""

from __future__ import annotations

from typing import Protocol, runtime_checkable
from uuid import UUID

from openmsmq.engine.arrivals.peers import KnownPeer
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.transport import PeerSessions
from openmsmq.types.peers import MulticastInfo, PeerInfo


@runtime_checkable
class GroupTransport(Protocol):
    """A transport that sends to groups and receives from them."""

    def groups(self) -> list[MulticastInfo]:
        """Its sessions."""
        ...


def multicast_infos(local: QueueManager) -> list[MulticastInfo]:
    """The sessions of multicast: those that are sent, then the sources that are heard."""
    found = [one.groups() for one in local.transports if isinstance(one, GroupTransport)]
    return [info for infos in found for info in infos]


def peer_infos(local: QueueManager) -> list[PeerInfo]:
    """All managers that are known, have sessions here, or of which messages are missing."""
    core = local
    missing: dict[UUID, int] = {}
    for sequence in core.incoming.items():
        if sequence.missing:
            source = UUID(bytes_le=sequence.source)
            missing[source] = missing.get(source, 0) + sequence.missing
    sessions: dict[UUID, PeerSessions] = {}
    for transport in core.transports:
        sessions |= transport.sessions()
    none = PeerSessions()
    known = {peer.id: peer for peer in core.peers}
    return [
        PeerInfo(
            id=guid,
            names=peer.names,
            address=peer.address,
            port=peer.port,
            pinned=core.peers.is_pinned(guid),
            relay=core.peers.is_relay(guid),
            sessions=sessions.get(guid, none).addresses,
            claimed_from=sessions.get(guid, none).claimed_from,
            missing=missing.get(guid, 0),
        )
        for guid in sorted({*known, *missing, *sessions})
        for peer in (known.get(guid, KnownPeer(guid)),)
    ]
