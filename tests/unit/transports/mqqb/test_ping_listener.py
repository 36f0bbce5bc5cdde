"""The listener for pings."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from tests.unit.transports.wires import Net, Station

from openmsmq.capture.capture import read_frames
from openmsmq.capture.packets import captured_packets
from openmsmq.capture.recorder import Recorder
from openmsmq.packet.ping import PingPacket
from openmsmq.transports.mqqb.ping import Pinger
from openmsmq.transports.mqqb.ping_listener import PingListener
from openmsmq.wire.reader import decode_whole

ASKER = UUID("99999999-2222-4333-8444-555566667777")
OWN = UUID("aaaaaaaa-2222-4333-8444-555566667777")
PATIENCE = 20.0


def station(sessions_max: int = 1) -> Station:
    """A manager that takes this many sessions."""
    return Station(Net(), "a", sessions_max=sessions_max)


def closed_listener() -> PingListener:
    return PingListener(OWN, "127.0.0.1", 0)


@asynccontextmanager
async def asking(made: Station | None = None) -> AsyncIterator[socket.socket]:
    """A socket that is connected to a listener."""
    asked = (made or station()).transport
    listener = PingListener(asked.identity, "127.0.0.1", 0, refuses=lambda: asked.refuses_sessions)
    place = await listener.start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.setblocking(False)
        asker.connect(place)
        try:
            yield asker
        finally:
            await listener.stop("enough")


async def answer(asker: socket.socket) -> bytes:
    """What comes back."""
    loop = asyncio.get_running_loop()
    return await asyncio.wait_for(loop.sock_recv(asker, 1000), PATIENCE)


def test_a_ping_is_answered_to_where_it_came_from() -> None:
    """MQQB-132, MQQB-135, MQQB-136: with the cookie and our own identity."""

    async def test() -> None:
        made = station()
        async with asking(made) as asker:
            pinger = Pinger(ASKER)
            request = pinger.request()
            asker.send(request)
            response = await answer(asker)
            found = decode_whole(response, PingPacket.read)
            assert found.qm_guid == made.transport.identity
            assert found.cookie == decode_whole(request, PingPacket.read).cookie
            assert pinger.receive(response) is True

    asyncio.run(test())


@pytest.mark.parametrize(
    "datagram",
    [b"", b"hello", bytes(24), Pinger(ASKER).request()[:-1], Pinger(ASKER).request() + b"\0"],
    ids=["empty", "text", "zeros", "short", "long"],
)
def test_a_datagram_that_is_no_ping_is_ignored(datagram: bytes) -> None:
    """MQQB-130: and the next one is answered."""

    async def test() -> None:
        async with asking() as asker:
            asker.send(datagram)
            pinger = Pinger(ASKER)
            pinger.request()
            asker.send(pinger.request())
            assert pinger.receive(await answer(asker)) is True

    asyncio.run(test())


def stopped(full: Station) -> Station:
    """A manager whose transport has stopped."""
    full.transport.stop()
    return full


def overfull(full: Station) -> Station:
    """A manager with all the sessions that it takes."""
    full.net.dial(full)
    return full


def offline(full: Station) -> Station:
    """A manager that someone took offline."""
    full.local.dispatcher.take_offline()
    return full


@pytest.mark.parametrize("made", [stopped, overfull, offline], ids=lambda made: made.__name__)
def test_the_answer_is_no_if_a_session_would_be_refused(
    made: Callable[[Station], Station],
) -> None:
    """MQQB-133, MQQB-141."""

    async def test() -> None:
        async with asking(made(station())) as asker:
            pinger = Pinger(ASKER)
            asker.send(pinger.request())
            assert pinger.receive(await answer(asker)) is False

    asyncio.run(test())


def test_a_listener_that_was_never_open_can_be_closed() -> None:
    asyncio.run(closed_listener().stop("enough"))


def test_a_service_without_a_binary_port_refuses_sessions() -> None:
    """MQQB-133."""
    listener = closed_listener()
    sent: list[bytes] = []
    listener.connection_made(SimpleNamespace(sendto=lambda data, addr: sent.append(data)))  # type: ignore[arg-type] # enough
    pinger = Pinger(ASKER)
    listener.datagram_received(pinger.request(), ("127.0.0.1", 9))
    assert pinger.receive(sent[0]) is False


def test_nothing_is_answered_before_the_start() -> None:
    closed_listener().datagram_received(Pinger(ASKER).request(), ("127.0.0.1", 9))


def test_a_port_that_is_taken_is_an_error() -> None:
    async def test() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            listener = PingListener(OWN, *taken.getsockname())
            with pytest.raises(OSError, match=r".*"):
                await listener.start()
            await listener.stop("enough")

    asyncio.run(test())


def test_what_is_asked_and_answered_is_recorded(tmp_path: Path) -> None:
    """A datagram that is no ping is not."""

    async def test() -> list[tuple[object, object, bytes]]:
        listener = PingListener(OWN, "127.0.0.1", 0, recorder=Recorder(tmp_path))
        place = await listener.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.setblocking(False)
            asker.connect(place)
            asker.send(b"hello")
            request = Pinger(ASKER).request()
            asker.send(request)
            response = await answer(asker)
            own = asker.getsockname()
            await listener.stop("enough")
        return [(own, place, request), (place, own, response)]

    said = asyncio.run(test())
    (file,) = tmp_path.iterdir()
    found = captured_packets(read_frames([file.read_bytes()]))
    assert [(packet.source, packet.target, packet.description.data) for packet in found] == said
