"""Sends to a group and listens to one, without a queue manager: to try out a network."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address
from random import SystemRandom
from typing import Final, NamedTuple
from uuid import uuid4

from openmsmq.errors import Malformed, MessageTooLarge
from openmsmq.names.format import MulticastName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.soap.mime import join_content
from openmsmq.soap.packets import from_packet, write_message
from openmsmq.transports.pgm.limits import APDU_SIZE_MAX
from openmsmq.transports.pgm.messages import pack_message
from openmsmq.transports.pgm.network import MulticastNetwork, default_interface
from openmsmq.transports.pgm.packets import ReceiverPacket, Tsi, decode
from openmsmq.transports.pgm.receiver import MulticastArrival, PgmReceiver
from openmsmq.transports.pgm.source import PgmSource
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.srmp.exchange import read_post

STEP_S: Final = 0.02
"Seconds between two looks at the clock."
TEXT: Final = 31
"The type of a body that is text in UTF-16 (VT_LPWSTR)."


class TrialMessage(NamedTuple):
    """A message that came to a group."""

    source: IPv4Address
    session: str
    number: int
    label: str
    body: bytes
    error: str = ""
    "Why it is none; then `body` is what came."


def open_network(interface: str | None, *, raw: bool, udp_port: int) -> MulticastNetwork:
    """The sockets; `OSError` and `ValueError` if that is not possible."""
    chosen = default_interface() if interface is None else IPv4Address(interface)
    return MulticastNetwork(chosen, udp_port=None if raw else udp_port, ttl=16, is_alert=True)


def pack_texts(group: MulticastName, texts: Iterable[tuple[str, str]]) -> list[bytes]:
    """Messages with labels and texts, as they travel; `MessageTooLarge` for one that does not."""
    manager = uuid4()
    builder = PacketBuilder(manager, group)
    messages = []
    for number, (label, text) in enumerate(texts, 1):
        packet = builder.build(
            text.encode("utf-16-le"),
            label=label,
            message_id=number,
            sent_time=int(time.time()),
            body_type=TEXT,
        )
        written = write_message(from_packet(PacketView(packet), receipts_to=""))
        content = join_content(written, manager, number)
        message = pack_message(group.address, group.port, *content)
        if len(message) > APDU_SIZE_MAX:
            raise MessageTooLarge(f"{len(message)} bytes with its envelope; {APDU_SIZE_MAX} fit")
        messages.append(message)
    return messages


async def send(
    network: MulticastNetwork, group: MulticastName, messages: list[bytes], timing: PgmTiming
) -> dict[str, int]:
    """Send messages, and repair them until the session is over; what was sent."""
    now = time.monotonic
    tsi = Tsi(secrets.token_bytes(6), secrets.randbelow(65_535) + 1)
    address, port = group.address, group.port
    source = PgmSource(tsi, network.interface, address, port, now(), mtu=network.mtu, timing=timing)

    def received(data: bytes, sender: IPv4Address, to: IPv4Address) -> None:
        try:
            packet = decode(data)
        except Malformed:
            return
        if isinstance(packet, ReceiverPacket):
            source.receive(packet, now())

    network.start(received)
    network.join(address)
    waiting = messages[::-1]
    while not source.is_over:
        while waiting and source.has_room:
            source.submit(waiting.pop())
        if not waiting:
            source.close(now())
        for one in source.transmit(now()):
            network.send_group(one.data, address, is_alert=one.is_alert)
        due = source.next_deadline
        await asyncio.sleep(0 if due is None else min(max(0.0, due - now()), STEP_S))
    network.close()
    return {name: source.counts[name] for name in ("packets", "repairs", "naks")}


async def listen(
    network: MulticastNetwork,
    group: MulticastName,
    timing: PgmTiming,
    show: Callable[[TrialMessage], bool],
    timeout: float | None,
) -> int:
    """Listen until `show` says that it is enough; how many packets were lost."""
    is_enough = False

    def take(arrivals: list[MulticastArrival]) -> bool:
        nonlocal is_enough
        for arrival in arrivals:
            is_enough = is_enough or show(_read(arrival, group))
        return is_enough

    return await receive_messages(network, group, timing, take, timeout)


async def receive_messages(
    network: MulticastNetwork,
    group: MulticastName,
    timing: PgmTiming,
    take: Callable[[list[MulticastArrival]], bool],
    timeout: float | None,
) -> int:
    """Receive until `take` says that it is enough; how many packets were lost."""
    now, random = time.monotonic, SystemRandom()
    receiver = PgmReceiver(
        group.address,
        group.port,
        draw=lambda: random.uniform(timing.backoff_min_s, timing.backoff_max_s),
        timing=timing,
    )
    done = asyncio.Event()

    def received(data: bytes, sender: IPv4Address, to: IPv4Address) -> None:
        try:
            packet = decode(data)
        except Malformed:
            return
        if to == group.address:
            arrivals = receiver.receive(packet, sender, now())
            if arrivals and take(arrivals):
                done.set()

    network.start(received)
    network.join(group.address)
    end = None if timeout is None else now() + timeout
    while not done.is_set() and (end is None or now() < end):
        messages, naks = receiver.tick(now())
        if messages and take(messages):
            break
        for nak in naks:
            network.send_to(nak.packet.pack(), nak.to)
            network.send_near(nak.packet.pack(), group.address)
        try:
            await asyncio.wait_for(done.wait(), STEP_S)
        except TimeoutError:
            continue
    network.close()
    return sum(session.counts["lost"] for session in receiver.sessions) + receiver.counts["lost"]


def _read(arrival: MulticastArrival, group: MulticastName) -> TrialMessage:
    content_type, content = arrival.message
    source, session = arrival.source, str(arrival.tsi)
    try:
        post = read_post(content_type, content, arrived=int(time.time()), destination=group)
    except Malformed as error:
        return TrialMessage(source, session, 0, "", content, str(error))
    view = PacketView(post.packet)
    return TrialMessage(source, session, view.message_id, view.label, bytes(view.body))
