"""The recording that the pages show is what a recorder writes."""

from __future__ import annotations

from pathlib import Path

from tools.generate_docs import ROOT

from openmsmq.capture.pcap import FILE_HEADER
from openmsmq.capture.recorder import Recorder
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection, SessionAck
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from tests.samples import SESSION, SOURCE, TARGET, properties, user_message

SHOWN = ROOT / "docs" / "examples" / "session.pcap"
NOW = 1_767_268_800.0
"2026-01-01 12:00:00 UTC."


def sample(folder: Path) -> bytes:
    """Two pings, and a session in which a message is sent and acknowledged."""
    recorder = Recorder(folder)
    here, there = ("192.0.2.10", 1801), ("192.0.2.20", 49_812)
    asked, answered = (there[0], 49_811), (here[0], 3527)
    recorder.datagram(asked, answered, PingPacket(0, PING_SIGNATURE, 7, SOURCE).pack(), NOW)
    recorder.datagram(answered, asked, PingPacket(0, PING_SIGNATURE, 7, TARGET).pack(), NOW + 0.001)
    recorder.flush(NOW)
    session = recorder.session(here, there, NOW + 0.01)
    greeting = EstablishConnection(EstablishConnectionHeader(SOURCE, TARGET, 1)).encode()
    parameters = ConnectionParameters(ConnectionParametersHeader(500, 20_000)).encode()
    for number, packet in enumerate((greeting, parameters)):
        session.received(packet, NOW + 0.02 + number / 100)
        session.sent(packet, NOW + 0.025 + number / 100)
    message = user_message(header=properties(b"100 apples", "order 1"), session=SESSION)
    session.received(message.encode(), NOW + 0.05)
    session.sent(SessionAck(SESSION).encode(), NOW + 0.55)
    session.closed(NOW + 60.0)
    pings, packets = (path.read_bytes() for path in sorted(folder.iterdir()))
    return pings + packets.removeprefix(FILE_HEADER)


def test_the_example_is_current(tmp_path: Path) -> None:
    assert SHOWN.read_bytes() == sample(tmp_path)
