"""Several sources of one address."""

from __future__ import annotations

from ipaddress import IPv4Address

from openmsmq.transports.pgm.messages import pack_message
from openmsmq.transports.pgm.packets import FIN, Nak, Ncf, PgmData, Spm, Tsi
from openmsmq.transports.pgm.receiver import PgmReceiver, SharedLimits

SOURCE, GROUP, PORT = IPv4Address("10.77.0.1"), IPv4Address("234.1.1.1"), 8001


def tsi(number: int) -> Tsi:
    return Tsi(b"source", number)


def receiver(limits: SharedLimits | None = None, sessions_max: int = 64) -> PgmReceiver:
    return PgmReceiver(
        GROUP, PORT, draw=lambda: 0.03, limits=limits, sessions_max=sessions_max
    )  # fmt: skip


def data(source: int, number: int, text: bytes = b"", port: int = PORT) -> PgmData:
    content = pack_message(GROUP, PORT, "text/xml", text)
    return PgmData(tsi(source), port, (), number, 1, content)


def spm(source: int, number: int, lead: int, *options: object) -> Spm:
    return Spm(tsi(source), PORT, tuple(options), number, 1, lead, SOURCE)  # type: ignore[arg-type]


def test_sources_are_independent() -> None:
    """PGM-012, PGM-101: a gap of one holds no other up."""
    found = receiver()
    for source in (1, 2):
        found.receive(spm(source, 1, 0), SOURCE, 0.0)
    assert not found.receive(data(1, 2, b"held"), SOURCE, 0.0)
    [message] = found.receive(data(2, 1, b"other"), SOURCE, 0.0)
    assert (message.message.content, message.tsi) == (b"other", tsi(2))
    both = found.receive(data(1, 1, b"first"), SOURCE, 0.0)
    assert [m.message.content for m in both] == [b"first", b"held"]


def test_packets_for_another_port_are_ignored() -> None:
    """PGM-059."""
    found = receiver()
    assert not found.receive(data(1, 1, port=8002), SOURCE, 0.0)
    assert not list(found.sessions)


def test_what_concerns_no_session_makes_none() -> None:
    """PGM-120: NAKs, NCFs, and SPMs of a session that is over."""
    found = receiver()
    found.receive(Nak(tsi(1), PORT, (), (1,), SOURCE, GROUP), SOURCE, 0.0)
    found.receive(Ncf(tsi(1), PORT, (), (1,), SOURCE, GROUP), SOURCE, 0.0)
    found.receive(spm(1, 1, 5, FIN), SOURCE, 0.0)
    assert not list(found.sessions)


def test_requests_of_other_receivers_and_confirmations_suppress_ours() -> None:
    """PGM-111, PGM-112, PGM-121."""
    for packet, wait in ((Ncf, 2.0), (Nak, 0.75)):
        found = receiver()
        found.receive(spm(1, 1, 0), SOURCE, 0.0)
        found.receive(data(1, 2), SOURCE, 0.0)
        found.receive(packet(tsi(1), PORT, (), (1,), SOURCE, GROUP), SOURCE, 0.01)
        assert found.next_deadline == 0.01 + wait
        assert not found.tick(0.03)[1]


def test_sources_are_limited() -> None:
    """PGM-125: one that has ended makes room."""
    limits = SharedLimits(sessions_max=3)
    found = receiver(limits, sessions_max=2)
    other = receiver(limits)
    for source in (1, 2, 3):
        found.receive(spm(source, 1, 0), SOURCE, 0.0)
    assert {session.tsi.port for session in found.sessions} == {1, 2}
    assert found.counts["too many sources"] == 1
    other.receive(spm(4, 1, 0), SOURCE, 0.0)
    other.receive(spm(5, 1, 0), SOURCE, 0.0)
    assert {session.tsi.port for session in other.sessions} == {4}
    found.receive(spm(1, 2, 0, FIN), SOURCE, 0.1)
    found.receive(spm(6, 1, 0), SOURCE, 0.2)
    assert {session.tsi.port for session in found.sessions} == {2, 6}


def test_a_silent_source_is_forgotten_and_what_it_took_is_free() -> None:
    """PGM-105, PGM-123: its counts stay."""
    limits = SharedLimits()
    found = receiver(limits)
    found.receive(spm(1, 1, 0), SOURCE, 0.0)
    found.receive(data(1, 2, b"held"), SOURCE, 0.0)
    assert limits.held.size > 0
    while (at := found.next_deadline) is not None:
        found.tick(at)
    assert (limits.sessions, limits.held.size) == (0, 0)
    assert found.counts["lost"] == 1
    assert found.counts["naks"] == 11
    found.receive(spm(1, 2, 0), SOURCE, 100.0)
    found.close()
    assert limits.sessions == 0
