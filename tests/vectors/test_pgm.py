"""Packets, timers and traces of PGM, and packets that OpenPGM sent."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from tests.soap import FOLDER as SRMP

from openmsmq.errors.peer import Malformed
from openmsmq.transports.pgm.messages import MessageReader, MulticastMessage
from openmsmq.transports.pgm.packets import (
    ApduFragment,
    Nak,
    Ncf,
    PgmData,
    PgmPacket,
    Spm,
    Tsi,
    decode,
)
from openmsmq.transports.pgm.serials import is_before
from openmsmq.transports.pgm.session import (
    OUTSIDE_WINDOW,
    UNCONFIRMED,
    UNSERVED,
    Delivered,
    Discarded,
    Ended,
    HeldBytes,
    Joined,
    Lost,
    PgmEvent,
    PgmSession,
)
from openmsmq.transports.pgm.source import PgmSource, repair_delay, tsdu_size
from openmsmq.transports.pgm.timers import PgmTiming

FOLDER = Path(__file__).parent / "pgm"
TSI = Tsi(bytes.fromhex("0a1b2c3d4e5f"), 0xC001)
SOURCE, GROUP, PORT = IPv4Address("10.77.0.1"), IPv4Address("234.1.1.1"), 8001
LIMITS = {UNCONFIRMED: "NAK_NCF_RETRIES", UNSERVED: "NAK_DATA_RETRIES", OUTSIDE_WINDOW: "window"}


def load(name: str) -> Any:
    return json.loads((FOLDER / f"pgm-{name}.json").read_text())


PACKETS, TRACES, OPENPGM = load("packets"), load("traces")["traces"], load("openpgm")
CAPTURED = [bytes.fromhex(p["ip_packet"])[20:] for p in OPENPGM["packets"]] + [
    bytes.fromhex(p["udp_payload"]) for p in OPENPGM["udp"]
]


def fields(packet: PgmPacket) -> dict[str, Any]:
    """What the vectors say of a packet, but for options."""
    exchanged = isinstance(packet, Nak)
    ports = (packet.tsi.port, packet.port)
    source, destination = ports[::-1] if exchanged else ports
    found: dict[str, Any] = {"sport": source, "dport": destination, "gsi": packet.tsi.gsi.hex()}
    match packet:
        case Spm():
            found |= {"sqn": packet.number, "trail": packet.trail, "lead": packet.lead}
            found["path"] = str(packet.path)
        case PgmData():
            found |= {"sqn": packet.number, "trail": packet.trail, "tsdu": packet.data.hex()}
        case Nak() | Ncf():
            found |= {"sqn": packet.numbers[0], "src": str(packet.source), "grp": str(packet.group)}
    return found


@pytest.mark.parametrize("vector", PACKETS["good"], ids=lambda vector: vector["name"])
def test_good_packets_are_read_and_written(vector: dict[str, Any]) -> None:
    """PGM-002 to PGM-004, PGM-006, PGM-014, PGM-017, PGM-021, PGM-023, PGM-027, PGM-028."""
    packet = decode(bytes.fromhex(vector["hex"]))
    assert packet.pack().hex() == vector["hex"]
    given = vector["fields"]
    if given["type"] == 12:
        return
    found = fields(packet)
    assert found == {name: given[name] for name in found}
    for kind, value in given.get("opts", ()):
        if kind == "FRAGMENT":
            assert isinstance(packet, PgmData)
            assert packet.fragment == ApduFragment(*value)
        elif kind == "NAK_LIST":
            assert isinstance(packet, Nak | Ncf)
            assert packet.numbers == (given["sqn"], *value)


@pytest.mark.parametrize("vector", PACKETS["bad"], ids=lambda vector: vector["name"])
def test_bad_packets_are_dropped(vector: dict[str, Any]) -> None:
    """PGM-005, PGM-009 to PGM-011, PGM-015, PGM-026, PGM-029, PGM-030, PGM-045."""
    raw = bytes.fromhex(vector["hex"])
    if vector["expect"].startswith("accept"):
        assert isinstance(decode(raw), Nak)
    else:
        with pytest.raises(Malformed):
            decode(raw)


@pytest.mark.parametrize("raw", CAPTURED, ids=range(len(CAPTURED)))
def test_packets_of_openpgm_are_read_and_written(raw: bytes) -> None:
    """PGM-016, PGM-033: with the octet that it leaves uninitialized."""
    assert decode(raw).pack() == raw


@pytest.mark.parametrize("turn", [1, -1], ids=["in order", "reversed"])
def test_a_message_over_three_packets_is_put_together(turn: int) -> None:
    """PGM-039, PGM-041, PGM-044, PGM-052: its numbers wrap."""
    vector = load("srmp")
    whole = (SRMP / vector["source"]).read_bytes()
    assert tsdu_size(vector["mtu"]) == vector["tsdu_max"]
    assert tsdu_size(1500) == 1432
    packets = [decode(bytes.fromhex(p["hex"])) for p in vector["packets"]]
    session = new_session()
    first = packets[0]
    assert isinstance(first, PgmData)
    session.receive(Spm(TSI, PORT, (), 1, first.number, first.number - 1, SOURCE), SOURCE, 0.0)
    reader = MessageReader()
    messages: list[MulticastMessage] = []
    for packet in packets[::turn]:
        assert isinstance(packet, PgmData)
        for event in session.receive(packet, SOURCE, 0.1):
            if isinstance(event, Delivered):
                messages += reader.add(event.packet)
    [message] = messages
    head, _, content = whole.partition(b"\r\n\r\n")
    assert message.content == content
    assert f"Content-Type: {message.content_type}".encode() in head


def test_a_source_cuts_messages_as_the_vector_is_cut() -> None:
    """PGM-038 to PGM-040: to the byte."""
    vector = load("srmp")
    first = vector["packets"][0]["fields"]["sqn"]
    source = PgmSource(TSI, SOURCE, GROUP, PORT, 0.0, mtu=vector["mtu"], first=first)
    assert source.submit((SRMP / vector["source"]).read_bytes())
    sent = [one.data.hex() for now in (0.0, 0.1, 0.2) for one in source.transmit(now)]
    assert sent[2:5] == [packet["hex"] for packet in vector["packets"]]


def test_timers_are_those_of_msmq() -> None:
    """PGM-061, PGM-063, PGM-065, PGM-079, PGM-082, PGM-088.

    SRMP-025, SRMP-026, SRMP-030, SRMP-031, SRMP-033.
    """
    vector, timing = load("timers"), PgmTiming()
    for case in vector["rdata_delay"]:
        delay = repair_delay(case["rdata"], case["trail"], case["last_odata"], timing.repair_s)
        assert delay * 1000 == case["delay_ms"]
    for case in vector["serial"]:
        assert is_before(case["a"], case["b"]) is case["a_lt_b"]
    bucket, window = vector["token_bucket"], vector["window"]
    assert timing.rate == bucket["rate_bytes_per_s"]
    assert int(timing.rate * timing.bucket_s) == bucket["bucket_bytes"]
    assert timing.window_s == window["TXW_SECS"]
    assert timing.advance_s == window["TXW_ADV_IVL"]
    assert timing.window_bytes == window["bytes"]
    assert (timing.backoff_min_s, timing.backoff_max_s) == (0.01, 0.05)


def test_heartbeats_come_later_and_later() -> None:
    """PGM-071, PGM-074, PGM-088, SRMP-027."""
    source = PgmSource(TSI, SOURCE, GROUP, PORT, 0.0)
    source.submit(b"tick")
    beats: list[float] = []
    last = 0.0
    while (at := source.next_deadline) is not None and at < 80:
        for sent in source.transmit(at):
            if isinstance(decode(sent.data), PgmData):
                last, beats = at, []
            else:
                beats.append(round(at - last, 6))
    assert beats[0] == 0.5, "an ambient SPM follows the data"
    assert beats[1:] == load("timers")["heartbeat_spm_seconds_after_last_data"]


def new_session() -> PgmSession:
    return PgmSession(
        TSI, GROUP, PORT, SOURCE, 0.0,
        timing=PgmTiming(), draw=lambda: 0.03, held_bytes=HeldBytes(),
    )  # fmt: skip


def shown(events: list[PgmEvent]) -> list[list[Any]]:
    """Events in the words of the traces."""
    found: list[list[Any]] = []
    for event in events:
        match event:
            case Joined(number):
                found.append(["JOIN", number])
            case Delivered(packet):
                found.append(["DELIVER", packet.number, packet.data.decode()])
            case Discarded(reason):
                found.append(["DISCARD", reason])
            case Lost(numbers, reason):
                found.append(["LOST", list(numbers), LIMITS[reason]])
            case Ended("unrecoverable loss"):
                found.append(["RESET", "unrecoverable loss ends the session"])
    return found


def feed(session: PgmSession, event: list[Any], now: float) -> list[list[Any]]:
    match event:
        case ["SPM", number, trail, lead, path]:
            packet = Spm(TSI, PORT, (), number, trail, lead, IPv4Address(path))
            return shown(session.receive(packet, SOURCE, now))
        case ["ODATA" | "RDATA" as kind, number, trail, text]:
            data = PgmData(TSI, PORT, (), number, trail, text.encode(), None, kind == "RDATA")
            return shown(session.receive(data, SOURCE, now))
        case ["NCF", numbers]:
            session.confirmed(Ncf(TSI, PORT, (), tuple(numbers)), now)
        case ["NAK", numbers]:
            session.requested(Nak(TSI, PORT, (), tuple(numbers)), now)
    return []


def pass_time(session: PgmSession, until: float) -> list[tuple[float, list[list[Any]]]]:
    """What the timers of a session do up to a time."""
    found = []
    while (at := session.next_deadline) < until - 1e-9 and not session.is_over(at):
        events, naks = session.tick(at)
        out = shown(events) + [["NAK", list(nak.numbers)] for nak, _ in naks]
        if out:
            found.append((round(at, 3), out))
    return found


@pytest.mark.parametrize("name", TRACES)
def test_a_receiver_follows_the_trace(name: str) -> None:
    """PGM-094, PGM-095, PGM-097 to PGM-100, PGM-106, PGM-108, PGM-111 to PGM-117, PGM-124.

    SRMP-024, SRMP-028, SRMP-029.
    """
    session = new_session()
    seen: list[tuple[float, list[list[Any]]]] = []
    expected: list[tuple[float, list[list[Any]]]] = []
    for step in TRACES[name]:
        now, event = step["t"], step["in"]
        seen += pass_time(session, now + 1e-6 if event == ["TIMER"] else now)
        if event != ["TIMER"]:
            seen.append((now, feed(session, event, now)))
        expected.append((now, step["out"]))
    assert seen == expected
