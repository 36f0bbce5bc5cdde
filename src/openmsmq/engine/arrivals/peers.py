"""The peer table: which manager is known to be where, and for whom a session may speak.

The binary protocol proves nothing: a session says which manager it belongs to, and every packet
names its source. What we know for certain is who answered when we dialled a name. That is learned
and kept on disk; what the configuration pins is never replaced by what is learned (decision 23).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.limits import NAMES_MAX, PEERS_MAX
from openmsmq.engine.storage.tables import Snapshot, Table, Writer

PEER: Final = b"P"
"What the keys of these rows begin with."
_LOOPBACK: Final = "loopback"


class Identity(StrEnum):
    """What is asked of a session before it may speak for the manager that it names."""

    CLAIMED = "claimed"
    "Nothing: it is taken at its word."
    ADDRESS = "address"
    "It comes from where that manager answered, if it was ever dialled."
    PINNED = "pinned"
    "The configuration names that manager's identity, and it comes from there."


@dataclass(frozen=True, slots=True)
class KnownPeer:
    """A manager that answered when it was dialled."""

    id: UUID
    names: tuple[str, ...] = ()
    "The computers at which it answered, the last one last."
    address: str = ""
    "The IP address where it was."
    port: int = 0

    def to_row(self) -> bytes:
        """The bytes to store; readable, since there are few of them."""
        values = {"names": self.names, "address": self.address, "port": self.port}
        return json.dumps(values, ensure_ascii=False).encode()


def read_peer(key: bytes, row: bytes) -> KnownPeer:
    """A peer as a row tells."""
    values = json.loads(row)
    names = tuple(map(str, values["names"]))
    return KnownPeer(UUID(bytes_le=key[1:]), names, str(values["address"]), int(values["port"]))


@dataclass(frozen=True, slots=True)
class Pin:
    """What the configuration says of a computer."""

    id: UUID | None = None
    "The manager that must answer there."
    relay: bool = False
    "It may bring messages of other managers."
    address: str = ""
    "Where it is: an IP address, or a name that must be dialled to know more."
    certificate: str = ""
    "The fingerprint of the certificate that it shows: none but its holder speaks for it."


class PeerTable:
    """All peers of a manager."""

    def __init__(self, snapshot: Snapshot) -> None:
        rows = snapshot.scan(Table.TRANSFER, PEER, PEER + b"\xff" * 17)
        self._peers = {peer.id: peer for peer in (read_peer(key, row) for key, row in rows)}
        self._configured: Mapping[str, Pin] = {}
        self._routed: Mapping[str, Pin] = {}
        self._set_pins()
        self.identity = Identity.ADDRESS

    def configure(self, identity: Identity, pins: Mapping[str, Pin]) -> None:
        """Take what the configuration says; `pins` are by the key of a computer's name."""
        self.identity = identity
        self._configured = dict(pins)
        self._set_pins()

    def set_topology(self, pins: Mapping[str, Pin]) -> None:
        """Take what a topology says of managers; what the configuration says counts for more."""
        self._routed = pins
        self._set_pins()

    def _set_pins(self) -> None:
        self._pins = {**self._routed, **self._configured}
        for name, pin in self._configured.items():
            routed = self._routed.get(name)
            if routed is not None and pin.id is None:  # it only says where the computer is
                self._pins[name] = replace(pin, id=routed.id, relay=pin.relay or routed.relay)
        "By the key of the computer's name."
        self._by_id: dict[UUID, list[tuple[str, Pin]]] = {}
        "Those that name a manager."
        self._unnamed = {name: pin for name, pin in self._pins.items() if pin.id is None}
        for name, pin in self._pins.items():
            if pin.id is not None:
                self._by_id.setdefault(pin.id, []).append((name, pin))

    def __iter__(self) -> Iterator[KnownPeer]:
        return iter(self._peers.values())

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, peer: UUID) -> KnownPeer | None:
        """What is known of a manager."""
        return self._peers.get(peer)

    def is_known(self, peer: UUID) -> bool:
        """Whether a manager answered when we dialled it, or is in the configuration."""
        return peer in self._peers or self.is_pinned(peer)

    def knows(self, source: bytes) -> bool:
        """The same for a manager as packets name it."""
        return self.is_known(UUID(bytes_le=source))

    def is_pinned(self, peer: UUID) -> bool:
        """Whether the configuration names this manager by its identity."""
        return peer in self._by_id

    def pinned_at(self, name: str) -> UUID | None:
        """Which manager must answer at a computer; None for any."""
        pin = self._pins.get(name)
        return None if pin is None else pin.id

    def certificate_of(self, peer: UUID) -> str:
        """The fingerprint of the certificate that is pinned for a manager; empty for none."""
        return next((pin.certificate for _, pin in self._by_id.get(peer, ())), "")

    def identity_fault(self, peer: UUID, name: str, shown: str) -> str:
        """Why a session cannot be of the manager that it says; empty if it can.

        `name` is the computer that was dialled, if any, `shown` is the fingerprint of the
        certificate that it showed. Without one it is of any manager that has none, and with one
        only of the manager that it is pinned for.
        """
        pinned = self.pinned_at(name)
        if pinned not in (None, peer):
            return f"{peer} answered, {pinned} is pinned"
        wanted = self.certificate_of(peer)
        if shown == wanted:
            return ""
        if not wanted:
            return f"no certificate is pinned for {peer}"
        return f"{peer} shows {'another certificate' if shown else 'no certificate'} than is pinned"

    def is_relay(self, peer: UUID) -> bool:
        """Whether a manager may bring messages of others."""
        if any(pin.relay for _, pin in self._by_id.get(peer, ())):
            return True
        known = self._peers.get(peer)
        names = () if known is None else known.names
        return any(name in names for name, pin in self._unnamed.items() if pin.relay)

    def conflicts(self, peer: UUID, address: str) -> bool:
        """Whether a session cannot be of the manager that it says, since that one is elsewhere.

        A manager that was never dialled may be anywhere, unless the configuration says where.
        """
        known = self._peers.get(peer)
        if known is not None:
            return place_of(known.address) != place_of(address)
        pinned = [place_of(pin.address) for _, pin in self._by_id.get(peer, ())]
        return all(pinned) and bool(pinned) and place_of(address) not in pinned

    def name_of(self, peer: UUID) -> str:
        """A computer at which a manager answered or must answer; empty if none is known."""
        known = self._peers.get(peer)
        if known is not None and known.names:
            return known.names[-1]
        return next((name for name, _ in self._by_id.get(peer, ())), "")

    def is_proven(self, peer: UUID, address: str) -> bool:
        """Whether a session may speak for the manager that it says it is of."""
        match self.identity:
            case Identity.CLAIMED:
                return True
            case Identity.ADDRESS:
                return not self.conflicts(peer, address)
            case Identity.PINNED:
                return self.is_pinned(peer) and not self.conflicts(peer, address)

    def learned(self, peer: UUID, name: str, address: str, port: int) -> Learned | None:
        """A manager answered at a computer; what is to be written down, None if nothing is new.

        It replaces what answered there before. An empty `name` says that it was dialled by its
        identity. A manager that is known elsewhere is not where another name leads to, nor is a
        pinned one: what answers there only claims to be this manager.
        """
        before = self._peers.get(peer) or KnownPeer(peer)
        if name and self._is_elsewhere(before, name, address):
            return None
        names = before.names
        if name and name not in names:
            names = (*names, name)[-NAMES_MAX:]
        now = KnownPeer(peer, names, address, port)
        replaced = [
            other for other in self._peers.values() if other.id != peer and name in other.names
        ]
        if now == before and not replaced:
            return None
        changed = [now]
        for other in replaced:
            left = tuple(item for item in other.names if item != name)
            changed.append(replace(other, names=left))
        gone = [other.id for other in changed if not other.names and other is not now]
        self._peers.pop(peer, None)
        for other in changed:
            self._peers[other.id] = other
        for guid in gone:
            del self._peers[guid]
        while len(self._peers) > PEERS_MAX:
            oldest = next(iter(self._peers))
            gone.append(oldest)
            del self._peers[oldest]
        return Learned(
            tuple(other for other in changed if other.id not in gone),
            tuple(gone),
            tuple(other.id for other in replaced),
        )

    def _is_elsewhere(self, known: KnownPeer, name: str, address: str) -> bool:
        """Whether a manager that answers at a name is known to be at other names only."""
        pinned = [key for key, _ in self._by_id.get(known.id, ())]
        if pinned and name not in pinned:
            return True
        is_moved = bool(known.address) and place_of(known.address) != place_of(address)
        return is_moved and bool(known.names) and name not in known.names


@dataclass(frozen=True, slots=True)
class Learned:
    """A change of the peer table."""

    changed: tuple[KnownPeer, ...]
    gone: tuple[UUID, ...]
    replaced: tuple[UUID, ...]
    "Those that were known by that name before."

    def write(self, writer: Writer) -> None:
        """Keep it."""
        for peer in self.changed:
            writer.put(Table.TRANSFER, PEER + peer.id.bytes_le, peer.to_row())
        for guid in self.gone:
            writer.delete(Table.TRANSFER, PEER + guid.bytes_le)


@lru_cache(maxsize=4096)
def place_of(address: str) -> str:
    """What tells where a peer is: all loopback addresses are one place."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return _LOOPBACK if found.is_loopback else str(found)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Who shares a bound: an IPv6 host can have any address of its /64."""
    place = place_of(address)
    if ":" not in place:
        return place
    return str(IPv6Address(int(IPv6Address(place.partition("%")[0])) >> 64 << 64))


def scope_of(claimant: bytes, source: bytes) -> bytes:
    """What stands for a source in keys of what a session brings that may not speak for it."""
    return blake2b(claimant + source, digest_size=16).digest()


def claimant_of(peer: bytes, address: str) -> bytes:
    """What a session is known by that does not prove to be of the manager that it names.

    Two that claim the same identity from two places have nothing in common.
    """
    return blake2b(peer + place_of(address).encode(), digest_size=16).digest()
