"""Multicast on one computer, beside bare UDP datagrams of the same size.

`python -m bench.multicast [MESSAGES]`, 20,000 unless told otherwise. Each message fits one packet.
Bare datagrams are sent and counted by a loop without order, repairs and checksums. What counts is
the processor time of the busier end: the rate that two processors could keep up.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
import sys
import time
from ipaddress import IPv4Address

from bench.servers import free_port
from openmsmq.names.format import MulticastName
from openmsmq.transports.pgm.messages import pack_message
from openmsmq.transports.pgm.network import MulticastNetwork
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.pgm.trial import receive_messages, send

GROUP = MulticastName(IPv4Address("239.192.0.77"), 8001)
LOOPBACK = IPv4Address("127.0.0.1")
MESSAGE = pack_message(GROUP.address, GROUP.port, "text/xml", b"x" * 1200)
TIMING = PgmTiming(rate=12_000_000, window_s=20.0, linger_s=2.0)
PACE = 500
"Bare datagrams that are sent before the receiver gets a turn."


def network(port: int) -> MulticastNetwork:
    """UDP on loopback: no privileges needed."""
    return MulticastNetwork(LOOPBACK, udp_port=port, ttl=1, is_alert=True)


def receive_bare(port: int, count: int) -> int:
    """Count datagrams until the sender falls silent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inbound:
        inbound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        member = struct.pack("4s4si", GROUP.address.packed, LOOPBACK.packed, 0)
        inbound.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        inbound.bind(("", port))
        print("ready", flush=True)
        found = 0
        inbound.settimeout(20)
        try:
            while found < count:
                inbound.recv(2048)
                found += 1
                inbound.settimeout(2)
        except TimeoutError:
            pass
        return found


def send_bare(port: int, count: int) -> None:
    """Send datagrams as large as the packets."""
    data = b"x" * (len(MESSAGE) + 24)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, LOOPBACK.packed)
        for number in range(count):
            opened.sendto(data, (str(GROUP.address), port))
            if number % PACE == 0:
                time.sleep(0.01)


async def receive_pgm(port: int, count: int) -> int:
    """Count messages until all have come."""
    found = 0

    def take(messages: int) -> bool:
        nonlocal found
        found += messages
        return found >= count

    opened = network(port)
    print("ready", flush=True)
    await receive_messages(opened, GROUP, TIMING, lambda arrivals: take(len(arrivals)), 60.0)
    return found


def role(name: str, port: int, count: int) -> None:
    """One end, in a process of its own; says its processor time."""
    found = count
    if name == "receive-bare":
        found = receive_bare(port, count)
    elif name == "send-bare":
        send_bare(port, count)
    elif name == "receive-pgm":
        found = asyncio.run(receive_pgm(port, count))
    else:
        asyncio.run(send(network(port), GROUP, [MESSAGE] * count, TIMING))
    print(json.dumps({"found": found, "seconds": time.process_time()}), flush=True)


def start(name: str, port: int, count: int) -> subprocess.Popen[str]:
    """An end."""
    words = [sys.executable, "-m", "bench.multicast", name, str(port), str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def measure(kind: str, count: int) -> tuple[float, float, int]:
    """Microseconds of the processor for a message at sender and receiver; how many came."""
    port = free_port()
    receiver = start(f"receive-{kind}", port, count)
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "ready\n"
    time.sleep(0.5)
    sender = start(f"send-{kind}", port, count)
    sent = json.loads(sender.communicate()[0])
    came = json.loads(receiver.communicate()[0])
    return (
        sent["seconds"] / count * 1e6,
        came["seconds"] / max(1, came["found"]) * 1e6,
        came["found"],
    )


def main(count: int = 20_000) -> None:
    """Both, in turns; processor time without that of starting."""
    idle = measure("bare", 1), measure("pgm", 1)
    print(f"{f'multicast, {len(MESSAGE)} bytes':<34}{'CPU: sender':>14}{'receiver':>11}{'came':>9}")
    busier = []
    for kind, (sender_idle, receiver_idle, _) in zip(("bare", "pgm"), idle, strict=True):
        sender, receiver, found = measure(kind, count)
        sender, receiver = sender - sender_idle / count, receiver - receiver_idle / count
        busier.append(max(sender, receiver))
        title = {"bare": "datagrams, nothing else", "pgm": "PGM in UDP"}[kind]
        print(f"  {title:<32}{sender:>11.1f} us{receiver:>8.1f} us{found:>9,}", flush=True)
    print(f"  rate of PGM by the busier end: {busier[0] / busier[1]:.2f} of datagrams")


if __name__ == "__main__":
    if sys.argv[1:2] and not sys.argv[1].isdigit():
        role(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
