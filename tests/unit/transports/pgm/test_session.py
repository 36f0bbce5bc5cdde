"""The reception of one source: limits, ends, restarts. Traces are with the vectors."""

from __future__ import annotations

from ipaddress import IPv4Address

from openmsmq.transports.pgm.limits import HELD_PACKETS_MAX, NAKS_PER_SECOND_MAX
from openmsmq.transports.pgm.packets import FIN, OptionType, PacketOption, PgmData, Spm, Tsi
from openmsmq.transports.pgm.session import (
    DUPLICATE,
    Delivered,
    Ended,
    HeldBytes,
    Joined,
    PgmEvent,
    PgmSession,
    ReceptionState,
)
from openmsmq.transports.pgm.timers import PgmTiming

TSI = Tsi(b"source", 49153)
SOURCE, OTHER = IPv4Address("10.77.0.1"), IPv4Address("10.77.0.9")
GROUP, PORT = IPv4Address("234.1.1.1"), 8001
RESET = PacketOption(OptionType.RST, specific=0x40)


class Reception:
    """A session, and what it has delivered."""

    def __init__(self, *, held: HeldBytes | None = None, may_relay: bool = False) -> None:
        self.session = PgmSession(
            TSI, GROUP, PORT, SOURCE, 0.0, timing=PgmTiming(), draw=lambda: 0.03,
            held_bytes=held or HeldBytes(), may_relay=may_relay,
        )  # fmt: skip
        self.spm_number = 0

    def spm(
        self,
        trail: int,
        lead: int,
        now: float = 0.0,
        *options: PacketOption,
        path: IPv4Address = SOURCE,
        source: IPv4Address = SOURCE,
    ) -> list[PgmEvent]:
        self.spm_number += 1
        packet = Spm(TSI, PORT, options, self.spm_number, trail, lead, path)
        return self.session.receive(packet, source, now)

    def data(
        self, number: int, now: float = 0.0, *options: PacketOption, size: int = 4, trail: int = 1
    ) -> list[int]:
        packet = PgmData(TSI, PORT, options, number, trail, bytes(size))
        events = self.session.receive(packet, SOURCE, now)
        return [event.packet.number for event in events if isinstance(event, Delivered)]

    def asked(self, now: float) -> list[tuple[tuple[int, ...], IPv4Address]]:
        return [(nak.numbers, to) for nak, to in self.session.tick(now)[1]]


def test_numbers_that_are_due_together_are_asked_for_together() -> None:
    """PGM-109, PGM-118, PGM-119: 63 in a NAK at the most, the oldest first."""
    reception = Reception()
    reception.spm(1, 0)
    reception.spm(1, 100)
    first, second = reception.asked(0.03)
    assert first == (tuple(range(1, 64)), SOURCE)
    assert second == (tuple(range(64, 101)), SOURCE)


def test_nothing_is_asked_for_before_an_spm() -> None:
    """PGM-107."""
    reception = Reception()
    reception.data(5)
    reception.data(7)
    assert not reception.asked(0.03)
    reception.spm(1, 7, 0.04)
    assert reception.asked(0.06) == [((6,), SOURCE)]


def test_requests_go_to_the_source_only() -> None:
    """PGM-127: a forged way must not bring our NAKs to someone else."""
    for path, source in ((OTHER, SOURCE), (GROUP, SOURCE), (GROUP, GROUP)):
        reception = Reception()
        reception.data(1)
        reception.spm(1, 2, path=path, source=source)
        assert not reception.asked(0.03)
    relayed = Reception(may_relay=True)
    relayed.data(1)
    relayed.spm(1, 2, path=OTHER)
    assert relayed.asked(0.03) == [((2,), OTHER)]


def test_requests_are_limited() -> None:
    """PGM-129."""
    reception = Reception()
    reception.spm(1, 0)
    sent = 0
    for step in range(300):
        now = step / 100
        reception.spm(1, 2 * step + 1, now)
        reception.data(2 * step + 2, now)
        sent += len(reception.session.tick(now + 0.03)[1])
    assert sent <= 3 * NAKS_PER_SECOND_MAX + NAKS_PER_SECOND_MAX / 10 + 1


def test_an_end_comes_after_what_is_missing() -> None:
    """PGM-102, PGM-104, PGM-142: then packets of the source are ignored."""
    reception = Reception()
    reception.spm(1, 0)
    reception.data(1)
    assert not reception.spm(1, 2, 1.0, FIN)
    assert reception.asked(1.03)
    assert reception.data(2, 1.1) == [2]
    assert reception.session.state is ReceptionState.ENDED
    assert not reception.data(3, 1.2)
    assert not reception.session.is_over(300.0)
    assert reception.session.is_over(301.2)


def test_data_may_bring_the_end() -> None:
    reception = Reception()
    reception.spm(1, 0)
    assert reception.data(1, 0.0, FIN) == [1]
    assert reception.session.state is ReceptionState.ENDED


def test_options_for_late_joiners_are_ignored() -> None:
    """PGM-036."""
    reception = Reception()
    reception.spm(1, 5, 0.0, PacketOption(OptionType.JOIN, bytes(4)))
    syn = PacketOption(OptionType.SYN)
    assert reception.data(6, 0.0, PacketOption(OptionType.JOIN, bytes(4)), syn) == [6]
    assert not reception.asked(1.0)


def test_a_reset_drops_what_is_held() -> None:
    """PGM-103, SRMP-038."""
    reception = Reception()
    reception.spm(1, 0)
    reception.data(2)
    assert reception.spm(1, 2, 0.0, RESET) == [Ended("reset by the source")]
    assert not reception.data(1)


def test_only_the_source_ends_a_session() -> None:
    """PGM-128."""
    reception = Reception()
    reception.spm(1, 0)
    reception.spm(1, 0, 0.0, RESET, source=OTHER)
    reception.spm(1, 0, 0.0, FIN, source=OTHER)
    assert reception.data(1) == [1]


def test_a_jump_starts_reception_anew_and_not_often() -> None:
    """PGM-126: thousands of numbers are not asked for."""
    reception = Reception()
    reception.spm(1, 0)
    reception.data(1)
    assert reception.spm(1, 2 + HELD_PACKETS_MAX) == [Ended("too far ahead")]
    assert not reception.asked(1.0)
    assert not reception.spm(1, 20_000, 0.9)
    assert reception.spm(1, 20_000, 1.0) == [Joined(20_001)]
    assert reception.data(20_001, 1.0) == [20_001]


def test_memory_is_bounded() -> None:
    """PGM-126: in a session and in all."""
    held = HeldBytes(limit=10_000)
    reception = Reception(held=held)
    reception.spm(1, 0)
    for number in range(2, 12):
        reception.data(number, size=1000)
    assert held.size == 10_000
    reception.data(12, size=1)
    assert held.size == 0
    assert reception.session.state is ReceptionState.RESYNC


def test_repairs_of_what_was_given_up_are_not_delivered_late() -> None:
    """PGM-100, PGM-122: after a loss reception goes on with what follows."""
    reception = Reception()
    reception.spm(1, 0)
    assert reception.data(1) == [1]
    reception.data(3)
    assert not reception.data(4, 0.1, trail=3), "2 is no longer repaired"
    assert reception.session.state is ReceptionState.RESYNC
    assert not reception.data(1, 0.2, trail=3)
    assert reception.data(5, 0.3, trail=3) == [5]
    assert reception.session.counts["lost"] == 1


def test_an_spm_with_older_edges_changes_the_way_only() -> None:
    """PGM-098."""
    reception = Reception(may_relay=True)
    reception.spm(10, 20)
    reception.data(21)
    assert not reception.spm(5, 15, path=OTHER)
    reception.data(23)
    assert reception.asked(0.03) == [((22,), OTHER)]


def test_edges_that_contradict_each_other_are_dropped() -> None:
    """PGM-020, PGM-062."""
    reception = Reception()
    reception.spm(1, 0)
    reception.data(1)
    reception.spm(0x8000_0100, 0x10)
    reception.spm(0, 0x8000_0000)
    assert reception.data(2) == [2]


def test_silence_ends_a_session() -> None:
    """PGM-105."""
    reception = Reception()
    reception.spm(1, 0, 1.0)
    assert not reception.session.is_over(60.9)
    assert reception.session.is_over(61.0)
    assert reception.session.next_deadline == 61.0


def test_each_packet_is_counted_once_as_what_became_of_it() -> None:
    reception = Reception()
    reception.spm(1, 0)
    for number in (1, 3, 3, 2, 1):
        reception.data(number)
    for _ in range(3):
        reception.spm(5, 3)
    repair = PgmData(TSI, PORT, (), 4, 1, b"", is_repair=True)
    for _ in range(2):
        reception.session.receive(repair, SOURCE, 0.0)
    reception.data(4 + HELD_PACKETS_MAX + 2)  # too far ahead: it begins again there
    assert reception.session.counts == {
        "packets": 4,
        "repairs": 1,
        DUPLICATE: 3,
        "edges that contradict each other": 3,
        "joins": 1,
        "resyncs": 1,
    }


def test_what_was_held_and_is_delivered_takes_no_memory_any_more() -> None:
    held = HeldBytes()
    reception = Reception(held=held)
    reception.spm(1, 0)
    for number in (3, 2):
        reception.data(number, size=100)
    assert held.size == 200
    assert reception.data(1) == [1, 2, 3]
    assert held.size == 0
