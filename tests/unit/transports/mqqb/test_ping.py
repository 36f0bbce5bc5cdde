"""Pings, asked and answered."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.samples import patch

from openmsmq.packet.ping import PING_SIGNATURE, PingFlags, PingPacket
from openmsmq.transports.mqqb.ping import PATIENCE, Pinger, answer_ping
from openmsmq.wire.reader import decode_whole

OWN = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
PEER = UUID("11111111-2222-4333-8444-555566667777")


def packet(flags: int = 0, cookie: int = 7, guid: UUID = PEER) -> bytes:
    return PingPacket(flags, PING_SIGNATURE, cookie, guid).pack()


def answer(datagram: bytes, *, refuses: bool = False) -> PingPacket:
    response = answer_ping(datagram, OWN, refuses=refuses)
    assert response is not None
    return decode_whole(response, PingPacket.read)


@pytest.mark.parametrize("rc", [0, PingFlags.RC])
def test_an_answer_repeats_the_request_and_says_who_answers(rc: int) -> None:
    """MQQB-132: RC and the cookie are copied, the GUID is ours."""
    assert answer(packet(rc, 0xFFFFFFFF)) == PingPacket(rc, PING_SIGNATURE, 0xFFFFFFFF, OWN)


def test_an_answer_says_whether_a_session_would_be_refused() -> None:
    """MQQB-133."""
    assert answer(packet(), refuses=True).flags == PingFlags.RF
    assert answer(packet(), refuses=False).flags == 0


def test_flags_that_a_request_has_no_use_for_are_not_repeated() -> None:
    """MQQB-134: not even RF."""
    assert answer(packet(0xFFFF)).flags == PingFlags.RC
    assert answer(packet(0xFFFE)).flags == 0


@pytest.mark.parametrize(
    "datagram",
    [b"", packet()[:-1], packet() + b"\0", patch(packet(), 2, b"LI")],
    ids=["empty", "short", "long", "signature"],
)
def test_what_is_no_ping_is_ignored(datagram: bytes) -> None:
    """MQQB-129, MQQB-130: by those who answer and by those who ask."""
    assert answer_ping(datagram, OWN, refuses=False) is None
    pinger = Pinger(OWN)
    pinger.request()
    assert pinger.receive(datagram) is None
    assert pinger.receive(packet(cookie=1)) is True, "it waits on"


def test_every_request_has_a_cookie_of_its_own() -> None:
    """MQQB-131, MQQB-137, AMB-55: it rises before each request, from 0."""
    pinger = Pinger(OWN)
    requests = [decode_whole(pinger.request(), PingPacket.read) for _ in range(3)]
    assert requests == [PingPacket(0, PING_SIGNATURE, cookie, OWN) for cookie in (1, 2, 3)]


def test_cookies_wrap() -> None:
    """MQQB-137."""
    pinger = Pinger(OWN)
    pinger._cookie = 0xFFFFFFFF
    assert decode_whole(pinger.request(), PingPacket.read).cookie == 0
    assert pinger.receive(packet(cookie=0)) is True


@pytest.mark.parametrize(("flags", "expected"), [(0, True), (PingFlags.RF, False), (0xFFFD, True)])
def test_an_answer_says_yes_or_no(flags: int, expected: bool) -> None:
    """MQQB-134, MQQB-141."""
    pinger = Pinger(OWN)
    pinger.request()
    assert pinger.receive(packet(flags, 1)) is expected


def test_an_answer_to_an_earlier_request_is_ignored() -> None:
    """MQQB-138."""
    pinger = Pinger(OWN)
    pinger.request()
    pinger.request()
    assert pinger.receive(packet(cookie=1)) is None
    assert pinger.receive(packet(cookie=2)) is True


def test_an_answer_that_no_one_waits_for_is_ignored() -> None:
    """MQQB-139: none was asked for, it came before, or it comes too late."""
    pinger = Pinger(OWN)
    assert pinger.receive(packet(cookie=0)) is None
    pinger.request()
    assert pinger.receive(packet(cookie=1)) is True
    assert pinger.receive(packet(cookie=1)) is None
    pinger.request()
    pinger.give_up()
    assert pinger.receive(packet(cookie=2)) is None


def test_an_answer_is_awaited_for_one_second() -> None:
    """MQQB-140."""
    assert PATIENCE == 1
