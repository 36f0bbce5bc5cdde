"""The open sessions with other managers, and for whom each of them may speak (decision 23)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.peers import Identity, place_of
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.transport import PeerSessions
from openmsmq.engine.queues.queue import Purpose
from openmsmq.runtime.logs import log_event
from openmsmq.security.principals import authenticated_token, format_principal, principal_sid
from openmsmq.transports.limits import CLONES_MAX, VERIFIED_MAX
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.order_acks import AckLink
from openmsmq.transports.peers.peer import Peer, PeerKey

_log: Final = logging.getLogger(__name__)
VERIFY_EVERY: Final = 60.0
"Seconds before a manager is dialled again because a session comes from elsewhere."


class SessionTable:
    """All open sessions, by the manager that each says it is of."""

    def __init__(self, core: Core, dial: Callable[[PeerKey], None]) -> None:
        """`dial` connects to a computer or a manager, to see who answers."""
        self._core = core
        self._peers = core.peers
        self._dial = dial
        self._by_peer: dict[UUID, list[Link]] = {}
        "The newest last."
        self._verified: dict[UUID, float] = {}
        "When managers were last dialled again."
        self.clones: dict[UUID, tuple[str, ...]] = {}
        "Managers that had sessions from several places at a time, and where these came from."

    def of(self, peer: UUID) -> Sequence[Link]:
        """The open sessions that say they are of a manager."""
        return self._by_peer.get(peer, ())

    def addresses(self) -> dict[UUID, tuple[str, ...]]:
        """Where the open sessions come from, by manager."""
        return {
            peer: tuple(dict.fromkeys(link.address for link in links))
            for peer, links in self._by_peer.items()
        }

    def add(self, link: Link, now: float) -> list[Link]:
        """A session is open; the older ones that it replaces."""
        peer = link.session.peer
        self._by_peer.setdefault(peer, []).append(link)
        self._entitle(link)
        if self._peers.identity is not Identity.CLAIMED:
            self._verify(link, now)
        self._note_clones(peer)
        return [] if link.is_initiator else self._supersede(link)

    def remove(self, link: Link) -> None:
        """A session is over."""
        links = self._by_peer.get(link.session.peer, [])
        if link in links:
            links.remove(link)
            if not links:
                del self._by_peer[link.session.peer]

    def learn(self, link: Link, dialled: Peer[Link]) -> None:
        """A manager answered when a name was dialled: that is who is there.

        One that was dialled for acknowledgements only is none of those that are known: others could
        have us know any number of managers so, and forget some for that.
        """
        name = dialled.key if isinstance(dialled.key, str) else ""
        peer = link.session.peer
        is_wanted = any(queue.properties.purpose is Purpose.SEND for queue in dialled.queues)
        if not (is_wanted or self._peers.is_known(peer)):
            return
        learned = self._peers.learned(peer, name, link.address, link.place[1])
        if learned is None:
            return
        self._core.submit(
            lambda batch: learned.write(batch.writer), lambda: None, lambda error: None
        )
        if learned.replaced:
            before = ", ".join(map(str, learned.replaced))
            event = "another manager answers"
            log_event(_log, event, level=logging.WARNING, at=name, manager=peer, before=before)
        for changed in (peer, *learned.replaced):
            self._core.incoming.recognize(changed.bytes_le)
            for other in self.of(changed):
                self._entitle(other)

    def ack_link(self, brought: AckLink, source: UUID) -> Link | None:
        """An open session on which a manager hears of messages that it brought: the one that did.

        Or any other of the same identity.
        """
        if isinstance(brought, Link) and brought.is_open:
            return brought
        scope = brought.origin.scopes(source.bytes_le)[0]
        for link in reversed(self.of(source)):
            if link.is_open and link.origin.scopes(source.bytes_le)[0] == scope:
                return link
        return None

    def sessions(self) -> dict[UUID, PeerSessions]:
        """The managers that are connected, and those with several places at a time."""
        addresses = self.addresses()
        return {
            guid: PeerSessions(addresses.get(guid, ()), self.clones.get(guid, ()))
            for guid in {*addresses, *self.clones}
        }

    def _entitle(self, link: Link) -> None:
        """Decide for whom a session may speak, by what the peer table says."""
        peer, peers = link.session.peer, self._peers
        is_proven = bool(link.fingerprint) or peers.is_proven(peer, link.address)
        if link.fingerprint:
            sid = principal_sid("manager", peers.name_of(peer))
            link.origin.principal = authenticated_token(sid)
            link.origin.certified = format_principal(sid)
        link.origin.entitle(
            peer.bytes_le,
            is_proven=is_proven,
            is_relay=is_proven and peers.is_relay(peer),
            is_known=is_proven and peers.is_known(peer),
        )

    def _verify(self, link: Link, now: float) -> None:
        """If a session comes from elsewhere than its manager was found, dial that one again.

        Should it answer at another address now, that is where it is (`learn`).
        """
        peer = link.session.peer
        if link.fingerprint or not self._peers.conflicts(peer, link.address):
            return
        if now < self._verified.get(peer, -VERIFY_EVERY) + VERIFY_EVERY:
            return
        if len(self._verified) >= VERIFIED_MAX:
            del self._verified[next(iter(self._verified))]
        self._verified[peer] = now
        known = self._peers.get(peer)
        detail = "never dialled" if known is None else f"it answered at {known.address}"
        link.log("session from elsewhere", logging.WARNING, "conflict", detail)
        self._dial(self._peers.name_of(peer) or peer)

    def _supersede(self, link: Link) -> list[Link]:
        """A newer session of a manager from the same place replaces an older one.

        The older one may be half open. Sessions from two places live side by side: cloned machines
        have one identity.
        """
        place = place_of(link.address)
        replaced = [
            older
            for older in self.of(link.session.peer)
            if not older.is_superseded
            and older is not link
            and not older.is_initiator
            and place_of(older.address) == place
        ]
        for older in replaced:
            older.is_superseded = True
        return replaced

    def _note_clones(self, peer: UUID) -> None:
        places = {place_of(link.address): link.address for link in self.of(peer)}
        if len(places) < 2 or peer in self.clones:
            return
        if len(self.clones) >= CLONES_MAX:
            del self.clones[next(iter(self.clones))]
        self.clones[peer] = tuple(places.values())
        event, where = "one identity in several places", ", ".join(places)
        log_event(_log, event, level=logging.WARNING, manager=peer, addresses=where)
