"""The sockets of multicast: packets of IP protocol 113, or in UDP datagrams as OpenPGM does.

Raw sockets need CAP_NET_RAW. UDP needs no privilege and is not spoken by Windows; there one port
serves groups and single receivers.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import Final

from openmsmq.runtime.logs import log_event
from openmsmq.transports.pgm.limits import BATCH_MAX, DATAGRAM_MAX, MTU_MAX

PROTOCOL: Final = 113
"IP protocol number of PGM (RFC 3208, 8)."
ROUTER_ALERT: Final = b"\x94\x04\x00\x00"
UDP_HEADER: Final = 8
RECEIVE_BUFFER: Final = 4 << 20
_MULTICAST_ALL: Final = 49
_PACKET_INFO: Final = 8
_MTU_DISCOVER: Final = 10
_DISCOVER_DO: Final = 2
_MTU: Final = 14
_RECEIVE_BUFFER_FORCE: Final = 33
"Options of Linux that the module socket does not name."
ANY_GROUP: Final = "239.255.255.250"
"Nothing is sent to it: it is asked how a packet would leave."
_MEMBERSHIP: Final = struct.Struct("4s4si")
_log: Final = logging.getLogger(__name__)

PacketHandler = Callable[[bytes, IPv4Address, IPv4Address], None]
"Gets a packet, the address that it came from, and the one that it was sent to."


class MulticastNetwork:
    """Sends and receives packets; one for all groups of a process."""

    def __init__(
        self,
        interface: IPv4Address,
        *,
        udp_port: int | None,
        ttl: int,
        is_alert: bool,
    ) -> None:
        """`interface` is the address of the one to use; `udp_port` is None for raw packets."""
        self.interface = interface
        self.counts: Counter[str] = Counter()
        self._udp_port = udp_port
        self._groups: Counter[IPv4Address] = Counter()
        self._handler: PacketHandler | None = None
        self._plain = self._open(ttl)
        self._alert = self._plain
        self._near = self._open(1)
        if udp_port is None and is_alert:
            self._alert = self._open(ttl)
            self._alert.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, ROUTER_ALERT)
        self._inbound = self._open(ttl)
        self._prepare_inbound()

    def _open(self, ttl: int) -> socket.socket:
        if self._udp_port is None:
            opened = socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL)
        else:
            opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, self.interface.packed)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        opened.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _DISCOVER_DO)
        return opened

    def _prepare_inbound(self) -> None:
        inbound = self._inbound
        try:  # the system's maximum is often far less than a second of packets
            inbound.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, RECEIVE_BUFFER)
        except PermissionError:
            inbound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        inbound.setsockopt(socket.IPPROTO_IP, _MULTICAST_ALL, 0)
        if self._udp_port is not None:
            inbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            inbound.setsockopt(socket.IPPROTO_IP, _PACKET_INFO, 1)
            inbound.bind(("", self._udp_port))

    @property
    def port(self) -> int | None:
        """The UDP port; None for raw packets."""
        return None if self._udp_port is None else int(self._inbound.getsockname()[1])

    def start(self, handler: PacketHandler) -> None:
        """Receive packets from now on."""
        self._handler = handler
        asyncio.get_running_loop().add_reader(self._inbound.fileno(), self._readable)

    def close(self) -> None:
        """Send and receive no more."""
        if self._handler is not None:
            asyncio.get_running_loop().remove_reader(self._inbound.fileno())
        for opened in {self._plain, self._alert, self._near, self._inbound}:
            opened.close()

    def join(self, group: IPv4Address) -> None:
        """Receive what is sent to a group; once for each time it is left."""
        self._groups[group] += 1
        if self._groups[group] == 1:
            self._change(socket.IP_ADD_MEMBERSHIP, group)

    def leave(self, group: IPv4Address) -> None:
        """Receive it no more."""
        self._groups[group] -= 1
        if not self._groups[group]:
            del self._groups[group]
            self._change(socket.IP_DROP_MEMBERSHIP, group)

    def _change(self, option: int, group: IPv4Address) -> None:
        request = _MEMBERSHIP.pack(group.packed, self.interface.packed, 0)
        try:
            self._inbound.setsockopt(socket.IPPROTO_IP, option, request)
        except OSError as error:
            self.counts["failed joins"] += 1
            log_event(_log, "group not joined", group=group, error=error)

    @property
    def mtu(self) -> int:
        """Bytes of an IP packet, less what UDP takes of them."""
        return _interface_mtu(self.interface) - (0 if self._udp_port is None else UDP_HEADER)

    @property
    def needs_membership(self) -> bool:
        """Whether a source hears requests only as a member of its group.

        Several processes of a computer share a UDP port, and only one of them gets what is sent to
        the computer alone.
        """
        return self._udp_port is not None

    # Packets

    def send_group(self, data: bytes, group: IPv4Address, *, is_alert: bool) -> bool:
        """Send to a group; False if the system cannot take it now."""
        return self._send(self._alert if is_alert else self._plain, data, group)

    def send_near(self, data: bytes, group: IPv4Address) -> None:
        """Send to a group, not beyond this network."""
        self._send(self._near, data, group)

    def send_to(self, data: bytes, address: IPv4Address) -> None:
        """Send to one computer."""
        self._send(self._plain, data, address)

    def _send(self, opened: socket.socket, data: bytes, to: IPv4Address) -> bool:
        try:
            opened.sendto(data, (str(to), self._udp_port or 0))
        except BlockingIOError:
            return False
        except OSError as error:
            self.counts["failed sends"] += 1
            if error.errno != errno.ENOBUFS:
                log_event(_log, "multicast packet not sent", to=to, error=error)
        return True

    def _readable(self) -> None:
        handler = self._handler
        assert handler is not None, "it was started"
        for packet in self._received():
            handler(*packet)

    def _received(self) -> Iterator[tuple[bytes, IPv4Address, IPv4Address]]:
        """What has come, up to a number: others want a turn."""
        inbound = self._inbound
        try:
            for _ in range(BATCH_MAX):
                if self._udp_port is None:
                    raw = inbound.recv(DATAGRAM_MAX)
                    size = (raw[0] & 15) * 4
                    yield raw[size:], IPv4Address(raw[12:16]), IPv4Address(raw[16:20])
                    continue
                data, information, _, source = inbound.recvmsg(DATAGRAM_MAX, 64)
                to = next((item[2][8:12] for item in information if item[1] == _PACKET_INFO), b"")
                if len(to) == 4:
                    yield data, IPv4Address(source[0]), IPv4Address(to)
        except OSError:
            return  # nothing more has come; the network being down is seen by those who send


def _interface_mtu(interface: IPv4Address) -> int:
    """What packets to groups may have on a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface.packed)
            probe.connect((ANY_GROUP, 9))
            return min(MTU_MAX, probe.getsockopt(socket.IPPROTO_IP, _MTU))
        except OSError:
            return MTU_MAX


def default_interface() -> IPv4Address:
    """The address from which packets to groups leave this computer; loopback without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ANY_GROUP, 9))
        except OSError:
            return IPv4Address("127.0.0.1")
        return IPv4Address(probe.getsockname()[0])
