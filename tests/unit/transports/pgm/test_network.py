"""Sockets: UDP on the loopback interface, and raw packets where that is allowed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from ipaddress import IPv4Address

import pytest

from openmsmq.transports.pgm import network as module
from openmsmq.transports.pgm.network import (
    PROTOCOL,
    RECEIVE_BUFFER,
    MulticastNetwork,
    default_interface,
)

LOOPBACK, GROUP = IPv4Address("127.0.0.1"), IPv4Address("239.192.7.1")
Received = list[tuple[bytes, IPv4Address, IPv4Address]]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(("udp_port", "taken"), [(None, 0), (7500, 8)])
def test_udp_takes_its_header_of_every_packet(
    monkeypatch: pytest.MonkeyPatch, udp_port: int | None, taken: int
) -> None:
    monkeypatch.setattr(module, "_interface_mtu", lambda interface: 1500)
    monkeypatch.setattr(MulticastNetwork, "__init__", lambda network: None)
    network = MulticastNetwork()  # type: ignore[call-arg]
    network.interface, network._udp_port = LOOPBACK, udp_port
    assert network.mtu == 1500 - taken
    assert network.needs_membership is (taken > 0), "others share the port"


def exchange_raw(network: MulticastNetwork) -> list[int]:
    """The sizes of the IP headers of two packets to a group, with and without an alert."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL) as member:
        member.settimeout(10)
        membership = GROUP.packed + LOOPBACK.packed
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        for is_alert in (True, False):
            assert network.send_group(b"alert?", GROUP, is_alert=is_alert)
        packets = [member.recv(100) for _ in range(2)]
    return [4 * (packet[0] & 15) for packet in packets if packet.endswith(b"alert?")]


def exchange(udp_port: int | None, *groups: IPv4Address) -> Received:
    """Send to a group, near it, and to one computer; what a member of groups receives."""

    async def run() -> Received:
        network = MulticastNetwork(LOOPBACK, udp_port=udp_port, ttl=16, is_alert=True)
        found: Received = []
        network.start(lambda *packet: found.append(packet))
        for group in groups:
            network.join(group)
            network.join(group)
            network.leave(group)
        assert network.port == udp_port
        assert network.send_group(b"group, with an alert", GROUP, is_alert=True)
        assert network.send_group(b"group", GROUP, is_alert=False)
        network.send_near(b"near", GROUP)
        network.send_to(b"alone", LOOPBACK)
        for _ in range(100):
            await asyncio.sleep(0.01)
            if len(found) == 4:
                break
        for group in groups:
            network.leave(group)
        network.close()
        return found

    return asyncio.run(run())


def test_udp_carries_packets_to_groups_and_computers() -> None:
    """PGM-134, PGM-136: one port for both."""
    found = exchange(free_port(), GROUP)
    assert found == [
        (b"group, with an alert", LOOPBACK, GROUP),
        (b"group", LOOPBACK, GROUP),
        (b"near", LOOPBACK, GROUP),
        (b"alone", LOOPBACK, LOOPBACK),
    ]


def test_a_group_that_was_not_joined_is_not_heard() -> None:
    """PGM-134: though another program of this computer has joined it."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("", port))
        other.setsockopt(
            socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, GROUP.packed + LOOPBACK.packed
        )
        found = exchange(port, IPv4Address("239.192.7.2"))
    assert all(to == LOOPBACK for _, _, to in found)


def may_open_raw() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 113).close()
    except PermissionError:
        return False
    return True


@pytest.mark.skipif(not may_open_raw(), reason="raw sockets need CAP_NET_RAW")
def test_raw_packets_have_protocol_113() -> None:
    """PGM-001, PGM-024, PGM-025, PGM-135."""
    found = exchange(None, GROUP)
    assert {data for data, _, _ in found} >= {b"group", b"near", b"alone"}
    assert all(source == LOOPBACK for _, source, _ in found)


@pytest.mark.skipif(not may_open_raw(), reason="raw sockets need CAP_NET_RAW")
@pytest.mark.parametrize("is_alert", [True, False])
def test_routers_are_alerted_by_an_option_of_ip_if_that_is_wanted(is_alert: bool) -> None:
    """PGM-024."""
    network = MulticastNetwork(LOOPBACK, udp_port=None, ttl=16, is_alert=is_alert)
    try:
        assert exchange_raw(network) == ([24, 20] if is_alert else [20, 20])
    finally:
        network.close()


def test_there_is_an_interface() -> None:
    assert not default_interface().is_multicast


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop privileges")
def test_without_the_privilege_it_is_refused() -> None:
    """PGM-131."""
    child = os.fork()
    if not child:
        try:
            os.setuid(65_534)
            MulticastNetwork(LOOPBACK, udp_port=None, ttl=16, is_alert=True)
        except PermissionError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets more than the system's maximum")
def test_a_receiver_that_is_busy_for_a_moment_loses_nothing() -> None:
    network = MulticastNetwork(LOOPBACK, udp_port=free_port(), ttl=16, is_alert=True)
    size = network._inbound.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    network._plain.close()
    for opened in (network._alert, network._near, network._inbound):
        opened.close()
    assert size >= RECEIVE_BUFFER


def test_what_the_system_refuses_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> MulticastNetwork:
        network = MulticastNetwork(LOOPBACK, udp_port=free_port(), ttl=16, is_alert=True)
        network.start(lambda *packet: None)
        assert network.send_group(bytes(70_000), GROUP, is_alert=False), "it is no use to wait"
        network.send_to(b"fits", LOOPBACK)
        network.close()
        return network

    with caplog.at_level(logging.INFO):
        assert asyncio.run(run()).counts == {"failed sends": 1}
    assert "multicast packet not sent" in caplog.text
