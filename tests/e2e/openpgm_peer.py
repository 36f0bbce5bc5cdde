"""OpenPGM, another implementation of PGM, as a process of its own.

Usage: openpgm_peer.py send|receive INTERFACE GROUP PORT COUNT [--udp]

It sends `COUNT` messages, or prints those it receives, a line of hexadecimal digits each.
"""

from __future__ import annotations

import ctypes as c
import socket
import sys
import time
from typing import Any

PGM = 113
NAMES = (
    "SEND_SOCK RECV_SOCK REPAIR_SOCK PENDING_SOCK ACK_SOCK TIME_REMAIN RATE_REMAIN IP_ROUTER_ALERT"
    " MTU MSSS MSS PDU MULTICAST_LOOP MULTICAST_HOPS TOS AMBIENT_SPM HEARTBEAT_SPM TXW_BYTES"
    " TXW_SQNS TXW_SECS TXW_MAX_RTE PEER_EXPIRY SPMR_EXPIRY RXW_BYTES RXW_SQNS RXW_SECS"
    " RXW_MAX_RTE NAK_BO_IVL NAK_RPT_IVL NAK_RDATA_IVL NAK_DATA_RETRIES NAK_NCF_RETRIES USE_FEC"
    " USE_CR USE_PGMCC SEND_ONLY RECV_ONLY PASSIVE ABORT_ON_RESET NOBLOCK SEND_GROUP JOIN_GROUP"
    " LEAVE_GROUP BLOCK_SOURCE UNBLOCK_SOURCE JOIN_SOURCE_GROUP LEAVE_SOURCE_GROUP MSFILTER"
    " UDP_ENCAP_UCAST_PORT UDP_ENCAP_MCAST_PORT"
)
OPTIONS = {name: 0x2000 + number for number, name in enumerate(NAMES.split())}
UDP_PORT = 3056
NORMAL = 1
SENDER = {"SEND_ONLY": 1, "TXW_SQNS": 5000, "TXW_MAX_RTE": 5_000_000, "AMBIENT_SPM": 1_000_000}
RECEIVER = {
    "RECV_ONLY": 1, "PASSIVE": 0, "RXW_SQNS": 5000, "PEER_EXPIRY": 30_000_000,
    "SPMR_EXPIRY": 250_000, "NAK_BO_IVL": 50_000, "NAK_RPT_IVL": 200_000,
    "NAK_RDATA_IVL": 200_000, "NAK_DATA_RETRIES": 50, "NAK_NCF_RETRIES": 50,
}  # fmt: skip


class Storage(c.Structure):
    _fields_ = (("family", c.c_ushort), ("data", c.c_char * 118), ("aligned", c.c_ulong))


class GroupSource(c.Structure):
    _fields_ = (
        ("interface", c.c_uint32), ("group", Storage), ("source", Storage), ("address", Storage),
    )  # fmt: skip


class AddressInfo(c.Structure):
    _fields_ = (
        ("family", c.c_ushort),
        ("receive_count", c.c_uint32), ("receive", c.POINTER(GroupSource)),
        ("send_count", c.c_uint32), ("send", c.POINTER(GroupSource)),
    )  # fmt: skip


class SessionId(c.Structure):
    _fields_ = (("gsi", c.c_ubyte * 6), ("port", c.c_uint16))


class SocketAddress(c.Structure):
    _fields_ = (("port", c.c_uint16), ("tsi", SessionId))


class InterfaceRequest(c.Structure):
    _fields_ = (("interface", c.c_uint32), ("scope", c.c_uint32), ("address", Storage))


def open_socket(pgm: Any, network: str, port: int, *, sends: bool, udp: bool) -> Any:
    error = c.c_void_p()

    def require(done: bool, what: str) -> None:
        if not done:
            raise SystemExit(f"{what} failed")

    def option(name: str, value: Any) -> None:
        value = c.c_int(value) if isinstance(value, int) else value
        done = pgm.pgm_setsockopt(opened, PGM, OPTIONS[name], c.byref(value), c.sizeof(value))
        require(done, name)

    require(pgm.pgm_init(c.byref(error)), "pgm_init")
    found = c.POINTER(AddressInfo)()
    done = pgm.pgm_getaddrinfo(network.encode(), None, c.byref(found), c.byref(error))
    require(done, "pgm_getaddrinfo")
    opened = c.c_void_p()
    protocol = socket.IPPROTO_UDP if udp else PGM
    family = found[0].send[0].group.family
    done = pgm.pgm_socket(c.byref(opened), family, socket.SOCK_SEQPACKET, protocol, c.byref(error))
    require(done, "pgm_socket")
    if udp:
        option("UDP_ENCAP_UCAST_PORT", UDP_PORT)
        option("UDP_ENCAP_MCAST_PORT", UDP_PORT)
    option("MTU", 1500)
    for name, value in (SENDER if sends else RECEIVER).items():
        option(name, value)
    if sends:
        option("HEARTBEAT_SPM", (c.c_int * 5)(100_000, 100_000, 200_000, 500_000, 1_000_000))
    place = SocketAddress(port)
    pgm.pgm_gsi_create_from_hostname(c.byref(place.tsi.gsi), c.byref(error))
    place.tsi.gsi[5] ^= sends
    request = InterfaceRequest(found[0].receive[0].interface, 0, found[0].receive[0].address)
    size = c.sizeof(request)
    done = pgm.pgm_bind3(
        opened, c.byref(place), c.sizeof(place), c.byref(request), size, c.byref(request), size,
        c.byref(error),
    )  # fmt: skip
    require(done, "pgm_bind3")
    for name, group in (("JOIN_GROUP", found[0].receive[0]), ("SEND_GROUP", found[0].send[0])):
        sizes = (c.sizeof(GroupSource), 264, 136)
        joins = (pgm.pgm_setsockopt(opened, PGM, OPTIONS[name], c.byref(group), n) for n in sizes)
        require(any(joins), name)
    for name, value in (("MULTICAST_LOOP", 1), ("MULTICAST_HOPS", 4), ("NOBLOCK", 1)):
        option(name, value)
    require(pgm.pgm_connect(opened, c.byref(error)), "pgm_connect")
    return opened


def send(pgm: Any, opened: Any, count: int) -> None:
    written = c.c_size_t()
    time.sleep(0.3)
    for number in range(count):
        body = b"message %06d " % number + b"x" * 400
        head = b"POST 239.192.0.9:8001 HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        message = head + body
        while pgm.pgm_send(opened, message, c.c_size_t(len(message)), c.byref(written)) != NORMAL:
            time.sleep(0.001)
    buffer = c.create_string_buffer(2048)
    end = time.monotonic() + 30
    while time.monotonic() < end:  # its timers run only inside of its calls
        pgm.pgm_recv(opened, buffer, c.c_size_t(2048), 0, c.byref(written), None)
        time.sleep(0.005)


def receive(pgm: Any, opened: Any, count: int) -> None:
    buffer, size = c.create_string_buffer(65_536), c.c_size_t()
    last, got = time.monotonic() + 10, 0
    print("ready", flush=True)  # noqa: T201
    while time.monotonic() < last and got < count:
        status = pgm.pgm_recv(opened, buffer, c.c_size_t(65_536), 0, c.byref(size), None)
        if status == NORMAL:
            print(buffer.raw[: size.value].hex(), flush=True)  # noqa: T201
            got += 1
            last = time.monotonic() + 4
        else:
            time.sleep(0.002)


def main() -> None:
    what, interface, group, port, count = sys.argv[1:6]
    pgm = c.CDLL("libpgm-5.3.so.0")
    for name in ("init", "getaddrinfo", "socket", "bind3", "connect", "setsockopt", "close"):
        getattr(pgm, f"pgm_{name}").restype = c.c_bool
    sends = what == "send"
    network = f"{interface};{group}"
    opened = open_socket(pgm, network, int(port), sends=sends, udp="--udp" in sys.argv)
    (send if sends else receive)(pgm, opened, int(count))
    pgm.pgm_close(opened, True)


if __name__ == "__main__":
    main()
