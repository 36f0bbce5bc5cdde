"""What is known about other queue managers, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from openmsmq.engine.arrivals.peers import Peer
from openmsmq.types.peers import PeerInfo

if TYPE_CHECKING:
    from openmsmq.engine.manager import LocalManager


def peer_infos(local: LocalManager) -> list[PeerInfo]:
    """All managers that are known, have sessions here, or of which messages are missing."""
    core, transfers = local.core, local.transfers
    missing: dict[UUID, int] = {}
    for sequence in core.incoming.items():
        if sequence.missing:
            source = UUID(bytes_le=sequence.source)
            missing[source] = missing.get(source, 0) + sequence.missing
    clones = {} if transfers is None else transfers.sessions.clones
    sessions = {} if transfers is None else transfers.sessions.addresses()
    known = {peer.id: peer for peer in core.peers}
    return [
        PeerInfo(
            id=guid,
            names=peer.names,
            address=peer.address,
            port=peer.port,
            pinned=core.peers.is_pinned(guid),
            relay=core.peers.is_relay(guid),
            sessions=sessions.get(guid, ()),
            claimed_from=clones.get(guid, ()),
            missing=missing.get(guid, 0),
        )
        for guid in sorted({*known, *missing, *clones, *sessions})
        for peer in (known.get(guid, Peer(guid)),)
    ]
