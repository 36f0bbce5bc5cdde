"""A source: what it sends, and when."""

from __future__ import annotations

from ipaddress import IPv4Address
from itertools import pairwise

import pytest

from openmsmq.transports.pgm.packets import (
    RESET_NO_REPAIRS,
    Nak,
    Ncf,
    OptionType,
    PgmData,
    PgmPacket,
    Spm,
    SpmRequest,
    Tsi,
    decode,
    nak_list,
)
from openmsmq.transports.pgm.source import PgmSource, SourceState
from openmsmq.transports.pgm.timers import PgmTiming

TSI = Tsi(b"source", 49153)
HERE, GROUP, PORT = IPv4Address("10.77.0.1"), IPv4Address("234.1.1.1"), 8001


class Wire:
    """Runs a source, and keeps what it sends with the time of each packet."""

    def __init__(self, *, mtu: int = 1500, timing: PgmTiming | None = None) -> None:
        self.source = PgmSource(TSI, HERE, GROUP, PORT, 0.0, mtu=mtu, timing=timing)
        self.sent: list[tuple[float, PgmPacket, bool]] = []
        self.now = 0.0

    def run(self, until: float) -> list[PgmPacket]:
        """What is sent up to a time."""
        before = len(self.sent)
        while (at := self.source.next_deadline) is not None and at <= until:
            self.now = max(self.now, at)
            for one in self.source.transmit(self.now):
                self.sent.append((self.now, decode(one.data), one.is_alert))
        self.now = until
        return [packet for _, packet, _ in self.sent[before:]]

    def ask(self, *numbers: int, port: int = PORT, source: IPv4Address = HERE) -> None:
        nak = Nak(TSI, port, nak_list(numbers), numbers, source, GROUP)
        self.source.receive(nak, self.now)


def data(packets: list[PgmPacket]) -> list[PgmData]:
    return [packet for packet in packets if isinstance(packet, PgmData)]


def fast(*, window_s: float = 300.0, repair_s: float = 0.06) -> PgmTiming:
    return PgmTiming(rate=10_000_000, window_s=window_s, repair_s=repair_s)


def test_two_spms_precede_the_first_data() -> None:
    """PGM-018, PGM-019, PGM-073."""
    wire = Wire()
    wire.source.submit(b"first")
    wire.run(0.2)
    kinds = [(at, type(packet)) for at, packet, _ in wire.sent]
    assert kinds == [(0.0, Spm), (0.1, Spm), (0.1, PgmData)]
    first, second = (packet for _, packet, _ in wire.sent if isinstance(packet, Spm))
    assert (first.number, second.number) == (0, 1)
    assert (first.trail, first.lead, first.path) == (1, 0, HERE)


def test_router_alert_goes_with_all_but_data() -> None:
    """PGM-024."""
    wire = Wire(timing=fast())
    wire.source.submit(b"first")
    wire.run(0.2)
    wire.ask(1)
    wire.run(0.3)
    alerts = {(type(packet).__name__, getattr(packet, "is_repair", False)): alert
              for _, packet, alert in wire.sent}  # fmt: skip
    assert alerts == {
        ("Spm", False): True, ("PgmData", False): False, ("Ncf", False): True,
        ("PgmData", True): True,
    }  # fmt: skip


def test_the_rate_is_kept() -> None:
    """PGM-060, PGM-064, PGM-081: over any interval, plus the bucket and one packet."""
    timing = PgmTiming(rate=100_000)
    wire = Wire(timing=timing)
    for number in range(30):
        wire.source.submit(bytes([number]) * 5000)
    wire.run(0.5)
    for number in range(1, 20):
        wire.ask(number)
    wire.run(3.0)
    times = [(at, len(packet.pack())) for at, packet, _ in wire.sent]  # type: ignore[attr-defined]
    for index, (start, _) in enumerate(times):
        for end, _ in times[index:]:
            sent = sum(size for at, size in times if start <= at <= end)
            bound = (end - start) * timing.rate + timing.rate * timing.bucket_s + 1500
            assert sent <= bound + 19 * 36, "confirmations are never delayed"
    numbers = [packet.number for _, packet, _ in wire.sent
               if isinstance(packet, PgmData) and not packet.is_repair]  # fmt: skip
    assert numbers == list(range(1, len(numbers) + 1))


def test_spms_go_with_data() -> None:
    """PGM-070, SRMP-032: after 50 packets, or half a second."""
    wire = Wire(timing=fast())
    for _ in range(120):
        wire.source.submit(b"tick")
    kinds = [type(packet) for packet in wire.run(0.2)[2:]]
    assert [at for at, kind in enumerate(kinds) if kind is Spm] == [50, 101]
    wire.run(0.61)
    assert isinstance(wire.sent[-1][1], Spm)
    assert wire.sent[-1][0] == pytest.approx(0.6)


def test_data_sets_the_heartbeat_back() -> None:
    """PGM-072, PGM-074."""
    wire = Wire()
    wire.run(5.0)
    wire.source.submit(b"tick")
    wire.run(8.1)
    times = [
        round(at - 5.0, 3) for at, packet, _ in wire.sent if isinstance(packet, Spm) and at > 5
    ]
    assert times == [0.5, 1.0, 3.0]


def test_a_request_is_confirmed_and_served() -> None:
    """PGM-022, PGM-067, PGM-075 to PGM-079: NCF first, with the same list; the data as it was."""
    wire = Wire(timing=fast())
    for number in range(10):
        wire.source.submit(b"message %d" % number)
    wire.run(0.2)
    original = {packet.number: packet.data for packet in data([p for _, p, _ in wire.sent])}
    wire.ask(3, 9, 99)
    confirmed, *repairs = wire.run(0.3)
    assert isinstance(confirmed, Ncf)
    assert (confirmed.numbers, confirmed.group, confirmed.source) == ((3, 9, 99), GROUP, HERE)
    assert [(p.number, p.data, p.is_repair) for p in data(repairs)] == [
        (3, original[3], True), (9, original[9], True),
    ]  # fmt: skip
    times = [at - 0.2 for at, p, _ in wire.sent if isinstance(p, PgmData) and p.is_repair]
    assert times == [pytest.approx(0.012), pytest.approx(0.048)]


def test_one_packet_is_repaired_once_in_a_while() -> None:
    """PGM-080: however many ask."""
    wire = Wire(timing=fast())
    wire.source.submit(b"message")
    wire.run(0.2)
    for _ in range(5):
        wire.ask(1)
    assert len(data(wire.run(0.25))) == 1
    wire.ask(1)
    assert [type(packet) for packet in wire.run(0.29)] == [Ncf]
    wire.run(0.31)
    wire.ask(1)
    assert len(data(wire.run(0.5))) == 1


def test_repairs_and_new_data_take_turns() -> None:
    """PGM-068."""
    wire = Wire(timing=PgmTiming(rate=20_000))
    for _ in range(10):
        wire.source.submit(bytes(1400))
    wire.run(0.25)
    wire.ask(1, 2)
    kinds = [packet.is_repair for packet in data(wire.run(0.9))]
    assert True in kinds
    assert not any(first and second for first, second in pairwise(kinds))


def test_requests_of_others_are_ignored() -> None:
    """PGM-059, PGM-087, PGM-133."""
    wire = Wire(timing=fast())
    wire.source.submit(b"message")
    wire.run(0.2)
    wire.ask(1, port=8002)
    wire.ask(1, source=IPv4Address("10.77.0.9"))
    wire.source.receive(Nak(Tsi(b"others", 1), PORT, (), (1,), HERE, GROUP), 0.2)
    wire.source.receive(Nak(TSI, PORT, (), (1,), HERE, IPv4Address("234.1.1.2")), 0.2)
    assert not wire.run(0.3)


def test_a_flood_of_requests_is_held_to_the_rate() -> None:
    """PGM-080, PGM-081: 36 bytes must not bring out as much as anyone likes."""
    wire = Wire()
    wire.source.submit(b"message")
    wire.run(0.2)
    for _ in range(100_000):
        wire.ask(1)
    assert wire.source.counts["naks"] < 71_680 / 36 + 200
    assert wire.source.counts["naks_ignored"] == 100_000 - wire.source.counts["naks"]


def test_old_packets_are_dropped_and_repaired_no_more() -> None:
    """PGM-062, PGM-078, PGM-082, PGM-084, SRMP-034: NAKs do not delay it."""
    wire = Wire(timing=fast(window_s=10.0))
    wire.source.submit(b"old")
    wire.run(9.0)
    wire.source.submit(b"new")
    wire.run(14.0)
    wire.ask(1)
    [confirmed, *others] = wire.run(17.0)
    assert isinstance(confirmed, Ncf)
    assert {(spm.trail, spm.lead) for spm in others if isinstance(spm, Spm)} == {(2, 2)}
    assert not data(others)


def test_the_window_keeps_messages_whole_and_repairs_that_are_due() -> None:
    """PGM-046, PGM-083, PGM-085, SRMP-035."""
    wire = Wire(mtu=576, timing=PgmTiming(rate=1000, window_s=10.0, bucket_s=0.0))
    wire.source.submit(bytes(8 * 508))
    wire.run(13.6)
    wire.source.receive(SpmRequest(TSI, PORT), 13.6)
    wire.run(13.7)
    [*_, last] = (packet for _, packet, _ in wire.sent if isinstance(packet, Spm))
    assert last.trail == 1, "its last part is not old enough"
    pending = Wire(timing=fast(window_s=10.0, repair_s=1000.0))
    for _ in range(3):
        pending.source.submit(b"message")
    pending.run(2.0)
    pending.ask(2)
    pending.run(16.0)
    [*_, last] = (packet for _, packet, _ in pending.sent if isinstance(packet, Spm))
    assert last.trail == 2


def test_a_full_window_holds_messages_back() -> None:
    """PGM-086: until the next advance."""
    wire = Wire(timing=PgmTiming(rate=10_000, window_s=10.0))
    assert wire.source.submit(bytes(65_535))
    assert not wire.source.submit(bytes(65_535))
    assert not wire.source.has_room
    wire.run(22.0)
    assert wire.source.has_room
    assert wire.source.submit(bytes(65_535))


def test_a_source_that_is_closed_sends_and_repairs_the_rest() -> None:
    """PGM-034, PGM-089, PGM-090."""
    wire = Wire(timing=fast())
    for number in range(3):
        wire.source.submit(b"%d" % number)
    wire.run(0.05)
    wire.source.close(0.05)
    sent = wire.run(0.5)
    assert [packet.data for packet in data(sent)] == [b"0", b"1", b"2"]
    [fin] = (p for p in sent if isinstance(p, Spm) and p.option(OptionType.FIN))
    assert fin.lead == 3
    wire.ask(2)
    assert [packet.data for packet in data(wire.run(0.6))] == [b"1"]
    later = wire.run(29.0)
    assert later
    assert all(packet.option(OptionType.FIN) for packet in later)
    wire.run(31.0)
    assert wire.source.is_over
    assert wire.source.next_deadline is None


def test_a_source_that_is_aborted_says_so_and_repairs_nothing() -> None:
    """PGM-035, PGM-091."""
    wire = Wire(timing=fast())
    wire.source.submit(b"message")
    wire.run(0.2)
    wire.source.submit(b"never sent")
    wire.source.abort(0.2)
    wire.ask(1)
    sent = wire.run(14.0)
    assert len(sent) == 5
    for packet in sent:
        reset = packet.option(OptionType.RST)
        assert reset is not None
        assert reset.specific == RESET_NO_REPAIRS
    wire.run(16.0)
    assert wire.source.state is SourceState.CLOSED


def test_an_spm_is_sent_on_request_but_not_often() -> None:
    """PGM-013."""
    wire = Wire()
    wire.run(0.2)
    for _ in range(10):
        wire.source.receive(SpmRequest(TSI, PORT), 0.2)
    assert len(wire.run(0.3)) == 1


def test_options_that_windows_does_not_send_are_not_sent() -> None:
    """PGM-036."""
    wire = Wire(mtu=576, timing=fast())
    for _ in range(5):
        wire.source.submit(bytes(2000))
    wire.run(0.5)
    wire.source.close(0.5)
    wire.run(40.0)
    sent = {option.kind for _, packet, _ in wire.sent for option in packet.options}
    assert sent == {OptionType.FRAGMENT, OptionType.FIN}


def test_an_empty_message_has_a_packet() -> None:
    wire = Wire()
    wire.source.submit(b"")
    assert [packet.data for packet in data(wire.run(0.2))] == [b""]


def test_spms_count_for_the_rate() -> None:
    """PGM-060: data waits for them."""
    timing = PgmTiming(rate=200)
    wire = Wire(timing=timing)
    wire.source.submit(b"first")
    wire.run(5.0)
    first, second, sent, *_ = [(at, packet) for at, packet, _ in wire.sent]
    spms = [packet for _, packet in (first, second) if isinstance(packet, Spm)]
    size = sum(len(spm.pack()) for spm in spms)
    assert isinstance(sent[1], PgmData)
    assert sent[0] == pytest.approx(size / timing.rate - timing.bucket_s)


def test_people_see_how_a_source_stands() -> None:
    wire = Wire(timing=fast())
    assert wire.source.info().state == "opening"
    wire.source.submit(b"a" * 4000)
    sent = len(wire.run(10))
    wire.ask(1)
    found = wire.source.info()
    assert (found.direction, found.group, found.source) == ("outgoing", "234.1.1.1:8001", str(HERE))
    assert (found.session, found.state, found.lost) == (str(TSI), "open", 0)
    assert 3 <= found.packets <= sent
    assert (found.requests, found.repairs) == (1, 0)
    wire.run(20)
    assert wire.source.info().repairs == 1


def test_what_is_sent_and_asked_for_is_counted() -> None:
    wire = Wire(timing=fast())
    for number in range(3):
        wire.source.submit(bytes([number]) * 100)
    sent = data(wire.run(1.0))
    assert wire.source.counts["packets"] == len(sent) == 3
    wire.ask(1, 2)
    wire.ask(3)
    wire.ask(3, port=PORT + 1)
    wire.ask(3, source=IPv4Address("10.77.0.9"))
    repaired = data(wire.run(2.0))
    assert wire.source.counts["naks"] == 2
    assert wire.source.counts["packets"] == 3
    assert wire.source.counts["bytes"] == sum(len(one.pack()) for one in [*sent, *repaired])
