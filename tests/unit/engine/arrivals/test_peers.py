"""The peer table, and for whom a session may speak."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.engine.arrivals import peers as module
from openmsmq.engine.arrivals.limits import NAMES_MAX
from openmsmq.engine.arrivals.peers import (
    PEER,
    Identity,
    KnownPeer,
    Learned,
    PeerTable,
    Pin,
    claimant_of,
    network_of,
    place_of,
    read_peer,
    scope_of,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore

A, B, C = (UUID(int=at) for at in (10, 11, 12))
AT_A, AT_B = "192.0.2.10", "192.0.2.11"


class Shelf:
    """A peer table on a store."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.peers = PeerTable(self.store.snapshot)

    def learn(
        self, peer: UUID, name: str = "", address: str = AT_A, port: int = 1801
    ) -> Learned | None:
        """A manager answered, and that is written down."""
        learned = self.peers.learned(peer, name, address, port)
        if learned is not None:
            learned.write(self.store.begin())
            self.store.commit()
            self.store.refresh()
        return learned

    def restart(self) -> Shelf:
        return Shelf(MemoryStore(self.store.committed))

    def on_disk(self) -> dict[UUID, KnownPeer]:
        """The rows, which say the same as the memory."""
        rows = self.store.committed.tables[Table.TRANSFER]
        found = {peer.id: peer for peer in (read_peer(*row) for row in rows.items())}
        assert found == {peer.id: peer for peer in self.peers}
        return found


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


# What is learned


def test_a_manager_that_answered_is_known_where_it_was(shelf: Shelf) -> None:
    assert not shelf.peers.is_known(A)
    assert shelf.peers.get(A) is None
    learned = shelf.learn(A, "ALPHA")
    assert learned == Learned((KnownPeer(A, ("ALPHA",), AT_A, 1801),), (), ())
    assert shelf.peers.is_known(A)
    again = shelf.restart()
    assert again.peers.get(A) == KnownPeer(A, ("ALPHA",), AT_A, 1801)
    assert len(again.peers) == 1


def test_none_but_the_holder_of_its_certificate_speaks_for_a_pinned_manager(shelf: Shelf) -> None:
    peers = shelf.peers
    assert peers.identity_fault(A, "", "") == "", "nothing is pinned"
    assert "no certificate is pinned" in peers.identity_fault(A, "", "ff")
    peers.configure(Identity.ADDRESS, {"A": Pin(A, certificate="aa"), "B": Pin(B)})
    assert peers.certificate_of(A) == "aa"
    assert peers.identity_fault(A, "", "aa") == ""
    assert "no certificate" in peers.identity_fault(A, "", "")
    assert "another certificate" in peers.identity_fault(A, "", "bb")
    assert "no certificate is pinned" in peers.identity_fault(B, "", "aa")
    assert peers.identity_fault(B, "", "") == ""
    assert "is pinned" in peers.identity_fault(B, "A", "")


def test_what_is_known_already_is_not_written_again(shelf: Shelf) -> None:
    shelf.learn(A, "ALPHA")
    assert shelf.learn(A, "ALPHA") is None
    assert shelf.learn(A) is None


def test_a_manager_that_moved_is_where_it_answered_last(shelf: Shelf) -> None:
    shelf.learn(A, "ALPHA")
    shelf.learn(A, "ALPHA", AT_B, 99)
    assert shelf.on_disk() == {A: KnownPeer(A, ("ALPHA",), AT_B, 99)}


def test_a_manager_has_the_names_at_which_it_answered_the_last_ones(shelf: Shelf) -> None:
    for at in range(NAMES_MAX + 3):
        shelf.learn(A, f"N{at}")
    assert shelf.on_disk()[A].names == tuple(f"N{at}" for at in range(3, NAMES_MAX + 3))


def test_what_answers_at_a_name_replaces_what_answered_there_before(shelf: Shelf) -> None:
    """Without any other name nothing is known of it any longer."""
    shelf.learn(A, "ALPHA")
    learned = shelf.learn(B, "ALPHA")
    assert learned is not None
    assert (learned.gone, learned.replaced) == ((A,), (A,))
    assert shelf.on_disk() == {B: KnownPeer(B, ("ALPHA",), AT_A, 1801)}


def test_what_was_replaced_keeps_its_other_names(shelf: Shelf) -> None:
    shelf.learn(A, "ALPHA")
    shelf.learn(A, "OTHER")
    learned = shelf.learn(B, "ALPHA", AT_B)
    assert learned is not None
    assert (learned.gone, learned.replaced) == ((), (A,))
    assert {guid: peer.names for guid, peer in shelf.on_disk().items()} == {
        A: ("OTHER",),
        B: ("ALPHA",),
    }


def test_a_manager_cannot_be_drawn_to_another_name_and_address(shelf: Shelf) -> None:
    """The one who answers there, when a program sends to it, says that it is this manager."""
    shelf.learn(A, "ALPHA")
    assert shelf.learn(A, "EVIL", AT_B) is None
    assert shelf.on_disk() == {A: KnownPeer(A, ("ALPHA",), AT_A, 1801)}
    assert shelf.peers.conflicts(A, AT_B)
    shelf.learn(A, "ALIAS", AT_A)
    assert shelf.on_disk()[A].names == ("ALPHA", "ALIAS")


def test_a_pinned_manager_is_at_its_own_name_only(shelf: Shelf) -> None:
    shelf.peers.configure(Identity.ADDRESS, {"ALPHA": Pin(A)})
    assert shelf.learn(A, "EVIL", AT_B) is None
    assert shelf.learn(A, "ALPHA", AT_A) is not None
    assert shelf.on_disk() == {A: KnownPeer(A, ("ALPHA",), AT_A, 1801)}


def test_one_that_is_dialled_by_its_identity_replaces_nothing(shelf: Shelf) -> None:
    shelf.learn(A)
    learned = shelf.learn(B)
    assert learned is not None
    assert learned.replaced == ()
    assert set(shelf.on_disk()) == {A, B}


def test_of_too_many_peers_the_one_learned_longest_ago_is_forgotten(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PEERS_MAX", 2)
    shelf.learn(A, "ALPHA")
    shelf.learn(B, "BETA")
    shelf.learn(A, "ALPHA", AT_B)  # learned anew
    shelf.learn(C, "GAMMA")
    assert set(shelf.on_disk()) == {A, C}


def test_what_is_stored_of_a_peer_can_be_read() -> None:
    peer = KnownPeer(A, ("ALPHA", "H\u00c9"), "::1", 99)
    assert read_peer(PEER + A.bytes_le, peer.to_row()) == peer


# What the configuration says


def test_a_pin_is_never_replaced_by_what_is_learned(shelf: Shelf) -> None:
    """Which manager answers at the name is the configuration's word."""
    shelf.peers.configure(Identity.PINNED, {"ALPHA": Pin(A)})
    shelf.learn(B, "ALPHA")
    assert shelf.peers.pinned_at("ALPHA") == A
    assert shelf.peers.pinned_at("BETA") is None
    assert shelf.peers.is_pinned(A)
    assert not shelf.peers.is_pinned(B)
    assert shelf.peers.is_known(A)


def test_a_relay_is_one_by_its_identity_or_where_none_is_given_by_its_name(shelf: Shelf) -> None:
    shelf.peers.configure(
        Identity.ADDRESS, {"ALPHA": Pin(A, relay=True), "BETA": Pin(relay=True), "GAMMA": Pin(C)}
    )
    assert shelf.peers.is_relay(A)
    assert not shelf.peers.is_relay(B)
    shelf.learn(B, "BETA", AT_B)
    assert shelf.peers.is_relay(B)
    shelf.learn(C, "GAMMA")
    assert not shelf.peers.is_relay(C)
    shelf.learn(C, "ALPHA")  # its name does not make it the pinned one
    assert not shelf.peers.is_relay(C)


# For whom a session may speak


@pytest.mark.parametrize(
    ("identity", "unknown", "there", "elsewhere", "pinned", "pinned_elsewhere"),
    [
        (Identity.CLAIMED, True, True, True, True, True),
        (Identity.ADDRESS, True, True, False, True, False),
        (Identity.PINNED, False, False, False, True, False),
    ],
)
def test_what_is_asked_of_a_session_is_a_setting(
    shelf: Shelf,
    identity: Identity,
    unknown: bool,
    there: bool,
    elsewhere: bool,
    pinned: bool,
    pinned_elsewhere: bool,
) -> None:
    """An unknown manager is in conflict with nothing."""
    shelf.peers.configure(identity, {"BETA": Pin(B)})
    assert shelf.peers.is_proven(C, AT_A) is unknown
    shelf.learn(A, "ALPHA", AT_A)
    assert shelf.peers.is_proven(A, AT_A) is there
    assert shelf.peers.is_proven(A, AT_B) is elsewhere
    assert shelf.peers.is_proven(B, AT_A) is pinned  # never dialled: it may be anywhere
    shelf.learn(B, "BETA", AT_B)
    assert shelf.peers.is_proven(B, AT_B) is pinned
    assert shelf.peers.is_proven(B, AT_A) is pinned_elsewhere


def test_a_manager_is_called_by_the_name_at_which_it_answered_last(shelf: Shelf) -> None:
    for name in ("BETA", "GAMMA"):
        shelf.learn(B, name, AT_B)
        assert shelf.peers.name_of(B) == name


@pytest.mark.parametrize("identity", [Identity.ADDRESS, Identity.PINNED])
@pytest.mark.parametrize("address", [AT_B, "beta.example.com"])
def test_a_pinned_manager_is_where_the_configuration_says_until_it_was_dialled(
    shelf: Shelf, identity: Identity, address: str
) -> None:
    """A name must be dialled to know which address it means."""
    shelf.peers.configure(identity, {"BETA": Pin(B, address=address)})
    assert not shelf.peers.is_proven(B, AT_A)
    assert shelf.peers.is_proven(B, AT_B) is (address == AT_B)
    assert shelf.peers.name_of(B) == "BETA"
    shelf.learn(B, "BETA", AT_B)
    assert shelf.peers.is_proven(B, AT_B)
    assert not shelf.peers.is_proven(B, AT_A)


def test_the_address_is_asked_for_unless_the_configuration_says_else(shelf: Shelf) -> None:
    assert shelf.peers.identity is Identity.ADDRESS


def test_all_loopback_addresses_are_one_place(shelf: Shelf) -> None:
    shelf.learn(A, "ALPHA", "127.0.0.1")
    for address in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.5"):
        assert not shelf.peers.conflicts(A, address)
    assert shelf.peers.conflicts(A, AT_A)


@pytest.mark.parametrize(
    ("address", "place", "network"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"),
        ("127.0.0.7", "loopback", "loopback"),
        ("::1", "loopback", "loopback"),
        ("2001:DB8:0:1:2:3:4:5", "2001:db8:0:1:2:3:4:5", "2001:db8:0:1::"),
        ("fe80::1%eth0", "fe80::1%eth0", "fe80::"),
        ("somewhere", "somewhere", "somewhere"),
        ("", "", ""),
    ],
)
def test_where_a_peer_is_and_with_whom_it_shares_a_bound(
    address: str, place: str, network: str
) -> None:
    """A host can have any IPv6 address of its /64; IPv4 addresses have one form."""
    assert place_of(address) == place
    assert network_of(address) == network


def test_two_that_claim_one_identity_from_two_places_have_nothing_in_common() -> None:
    a = A.bytes_le
    assert claimant_of(a, AT_A) != claimant_of(a, AT_B)
    assert claimant_of(a, AT_A) != claimant_of(B.bytes_le, AT_A)
    assert claimant_of(a, "127.0.0.1") == claimant_of(a, "::1")
    scopes = {
        scope_of(claimant, source)
        for claimant in (claimant_of(a, AT_A), claimant_of(a, AT_B), a)
        for source in (a, B.bytes_le)
    }
    assert len(scopes) == 6
    assert not scopes & {a, B.bytes_le}


def test_a_topology_says_who_is_known_and_who_may_relay() -> None:
    """What the configuration says of a computer counts for more."""
    table = PeerTable(MemoryStore().snapshot)
    router, client = UUID(int=71), UUID(int=72)
    pins = {"R": Pin(router, relay=True, address="10.0.0.1"), "C": Pin(client, address="10.0.0.2")}
    table.set_topology(pins)
    assert table.is_known(router)
    assert (table.is_relay(router), table.is_relay(client)) == (True, False)
    assert table.conflicts(router, "10.0.0.9")
    assert not table.conflicts(router, "10.0.0.1")
    assert table.name_of(client) == "C"
    table.configure(Identity.ADDRESS, {"R": Pin(UUID(int=73))})
    assert not table.is_known(router)
    table.set_topology({})
    assert not table.is_known(client)
    assert table.is_known(UUID(int=73))
