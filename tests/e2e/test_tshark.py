"""Recorded sessions as another program reads them: tshark, of Wireshark."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from openmsmq.capture.capture import read_frames
from openmsmq.capture.packets import captured_packets
from openmsmq.capture.pcap import Endpoint
from openmsmq.capture.recorder import Recorder
from openmsmq.packet.connection import SessionAck
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from tests.e2e.managers import PATIENCE, ManagerProcess, running
from tests.samples import MESSAGES, SESSION, SOURCE, properties, user_message

TSHARK = shutil.which("tshark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TSHARK is None, reason="tshark is not installed"),
]
ENDS = pytest.mark.parametrize(
    ("local", "remote"),
    [
        (("192.0.2.1", 1801), ("192.0.2.7", 50_000)),
        (("2001:db8::1", 1801), ("2001:db8::7", 50_000)),
    ],
    ids=["IPv4", "IPv6"],
)
NOW = 1_700_000_000.0
LARGE = user_message(header=properties(bytes(range(256)) * 1000)).encode()
MESSAGE = MESSAGES["all"].encode()
ACK = SessionAck(SESSION).encode()
PING = PingPacket(1, PING_SIGNATURE, 7, SOURCE).pack()
CHECKED = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
COMPLAINTS = (
    "tcp.analysis.flags || _ws.malformed || _ws.expert.severity >= 6291456"
    ' || tcp.checksum.status == "Bad" || udp.checksum.status == "Bad"'
    ' || ip.checksum.status == "Bad"'
)


def tshark(path: Path, *arguments: str) -> str:
    assert TSHARK is not None
    command = [TSHARK, "-n", "-r", str(path), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def recorded(folder: Path, local: Endpoint, remote: Endpoint) -> Path:
    """A session with packets of all sizes both ways."""
    recorder = Recorder(folder)
    recording = recorder.session(local, remote, NOW)
    for number in range(20):
        recording.received(MESSAGE if number % 3 else LARGE, NOW + number)
        recording.sent(ACK, NOW + number + 0.5)
    recording.closed(NOW + 60)
    [path] = folder.iterdir()
    return path


def followed(path: Path, *, reply: bool) -> bytes:
    """What one side said, as tshark puts it together; the answers are indented."""
    lines = tshark(path, "-q", "-z", "follow,tcp,raw,0").splitlines()
    said = [
        line for line in lines if line.strip("\t") and line.lstrip("\t")[0] in "0123456789abcdef"
    ]
    return bytes.fromhex("".join(line.strip() for line in said if line.startswith("\t") == reply))


@ENDS
def test_the_streams_are_the_same(tmp_path: Path, local: Endpoint, remote: Endpoint) -> None:
    path = recorded(tmp_path, local, remote)
    packets = list(captured_packets(read_frames([path.read_bytes()])))
    for source, reply in ((remote, False), (local, True)):
        ours = b"".join(p.description.data for p in packets if p.source == source)
        assert followed(path, reply=reply) == ours
        assert len(ours) > 500


@ENDS
def test_there_is_nothing_to_complain_of(tmp_path: Path, local: Endpoint, remote: Endpoint) -> None:
    path = recorded(tmp_path, local, remote)
    assert tshark(path, *CHECKED, "-Y", COMPLAINTS) == ""
    assert tshark(path, *CHECKED, "-Y", 'tcp.checksum.status == "Good"').count("\n") > 40


@ENDS
def test_datagrams_are_sound(tmp_path: Path, local: Endpoint, remote: Endpoint) -> None:
    recorder = Recorder(tmp_path)
    recorder.datagram(remote, (local[0], 3527), PING, NOW)
    recorder.flush(NOW)
    [path] = tmp_path.iterdir()
    shown = tshark(path, *CHECKED, "-T", "fields", "-e", "udp.payload", "-e", "udp.checksum.status")
    assert shown.split() == [PING.hex(), "1"]


def test_captures_in_other_formats_read_the_same(tmp_path: Path) -> None:
    """What tshark writes of a recording, in each format that it knows."""
    path = recorded(tmp_path / "ours", ("192.0.2.1", 1801), ("192.0.2.7", 50_000))
    ours = list(captured_packets(read_frames([path.read_bytes()])))
    assert len(ours) == 40
    for format in ("pcap", "pcapng", "nsecpcap"):
        other = tmp_path / f"session.{format}"
        tshark(path, "-F", format, "-w", str(other))
        assert list(captured_packets(read_frames([other.read_bytes()]))) == ours


def test_frames_of_an_interface_can_be_read(tmp_path: Path) -> None:
    """With the Ethernet headers that text2pcap puts before a packet."""
    text2pcap = shutil.which("text2pcap")
    if text2pcap is None:
        pytest.skip("text2pcap is not installed")
    digits = tmp_path / "packet.txt"
    digits.write_text(f"000000 {PING.hex(' ')}\n")
    made = tmp_path / "packet.pcapng"
    ends = ["-4", "192.0.2.7,192.0.2.1", "-u", "1234,3527"]
    subprocess.run([text2pcap, "-q", *ends, str(digits), str(made)], check=True)
    [packet] = captured_packets(read_frames([made.read_bytes()]))
    assert (packet.source, packet.target) == (("192.0.2.7", 1234), ("192.0.2.1", 3527))
    assert packet.description.data == PING


def test_a_service_records_pings(tmp_path: Path) -> None:
    """`serve --record --ping-port`: what was asked and answered, once the service is stopped."""
    folder = tmp_path / "recorded"
    options = ("--record", str(folder), "--ping-port", "0")
    manager = ManagerProcess(tmp_path, "a", options=options)
    with running(manager), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(PATIENCE)
        asker.connect(tuple(manager.ready["ping"]))
        asker.send(PING)
        answer = asker.recv(1000)
        manager.stop()
    [path] = folder.glob("*-pings_0-*.pcap")
    assert path.stat().st_mode & 0o077 == 0
    shown = tshark(path, *CHECKED, "-T", "fields", "-e", "udp.payload", "-e", "udp.checksum.status")
    assert shown.split() == [PING.hex(), "1", answer.hex(), "1"]
