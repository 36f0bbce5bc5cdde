"""Where computers and managers are."""

from __future__ import annotations

from uuid import UUID

from openmsmq.engine.arrivals.peers import KnownPeer
from openmsmq.transports.peers.addresses import PORT, Addresses, address_text, next_hops

MANAGER = UUID("11111111-2222-4333-8444-555566667777")


def test_a_computer_is_where_someone_said_or_else_dns_knows() -> None:
    """MQQB-002, MQQB-173."""
    addresses = Addresses({"Server": ("10.0.0.2", 999)})
    assert addresses.of_host("SERVER") == [("10.0.0.2", 999)]
    assert addresses.of_host("OTHER") == [("OTHER", PORT)]
    assert PORT == 1801


def test_a_manager_is_where_it_was_or_where_it_came_from() -> None:
    """MQQB-173: each place once, the likeliest first."""
    addresses = Addresses({"server": ("10.0.0.2", 999), "by name": ("server.example", 5)})
    assert addresses.of_manager(None, []) == []
    assert addresses.of_manager(None, ["10.0.0.2"]) == [("10.0.0.2", 999), ("10.0.0.2", PORT)]
    known = KnownPeer(MANAGER, ("OTHER", "SERVER"), "10.0.0.3", 7)
    found = addresses.of_manager(known, ["10.0.0.9"])
    assert found == [("10.0.0.3", 7), ("10.0.0.2", 999), ("OTHER", PORT)]
    assert addresses.of_manager(KnownPeer(MANAGER, (), "10.0.0.3", 7), ["10.0.0.9"]) == [
        ("10.0.0.3", 7)
    ]


def test_an_address_in_any_spelling_is_the_same() -> None:
    addresses = Addresses({"server": ("0:0::1", 999)})
    assert addresses.of_manager(None, ["::1"]) == [("0:0::1", 999), ("::1", PORT)]


def test_what_is_configured_is_expected_in_any_spelling() -> None:
    addresses = Addresses({"server": ("0:0::1", 999), "other": ("other.example", PORT)})
    assert addresses.has("127.0.0.1")
    assert not addresses.has("10.0.0.1")
    assert not addresses.has("other.example.com")


def test_addresses_are_shown_so_that_the_port_can_be_reported() -> None:
    assert address_text("10.0.0.2", 1801) == "10.0.0.2:1801"
    assert address_text("::1", 1801) == "[::1]:1801"


def test_next_hops_leave_names_out() -> None:
    """[MS-MQMQ] 2.3.12.12."""
    assert next_hops(["10.0.0.2", "server", "::1"]) == ("IP=10.0.0.2", "IPv6=::1")
