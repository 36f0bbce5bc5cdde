"""What `serve --record` promises, between two managers in processes of their own."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from openmsmq import Access, Message
from openmsmq.capture.capture import read_frames
from openmsmq.capture.packets import captured_packets
from openmsmq.transports.mqqb.ping import Pinger
from tests.e2e.managers import PATIENCE, ManagerProcess, running, until

pytestmark = pytest.mark.slow


@pytest.fixture
def managers(tmp_path: Path) -> Iterator[tuple[ManagerProcess, ManagerProcess]]:
    """`a`, which knows where `b` is and records its sessions in `recorded`; `b` has `orders`."""
    b = ManagerProcess(tmp_path, "b")
    with running(b):
        options = ("--record", str(tmp_path / "recorded"))
        a = ManagerProcess(tmp_path, "a", peers={"b": b.place}, options=options)
        with running(a):
            with b.connect() as manager:
                manager.create_queue("orders").close()
            yield a, b


def transfer(a: ManagerProcess, b: ManagerProcess, text: str) -> None:
    """Send a message from one to the other and receive it there."""
    with a.connect() as here, b.connect() as there:
        here.open_queue(r"DIRECT=OS:b\private$\orders", access=Access.SEND).send(Message(text))
        assert there.open_queue("orders").receive(timeout=PATIENCE).text == text


def test_a_session_is_recorded_and_decoded(
    managers: tuple[ManagerProcess, ManagerProcess], tmp_path: Path
) -> None:
    a, b = managers
    transfer(a, b, "recorded")
    a.stop()
    [path] = (tmp_path / "recorded").glob("*-127.0.0.1_*-*.pcap")
    assert path.stat().st_mode & 0o077 == 0, "only the user of the service may read it"
    with path.open("rb") as file:
        packets = list(captured_packets(read_frames(file)))
    kinds = [packet.description.kind for packet in packets]
    assert kinds[:2] == ["EstablishConnection", "EstablishConnection"]
    assert "UserMessage" in kinds
    assert {packet.target for packet in packets} >= {b.place}


def test_pings_are_recorded_beside_sessions(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded"
    a = ManagerProcess(tmp_path, "a", options=("--record", str(recorded), "--ping-port", "0"))
    with running(a), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(PATIENCE)
        asker.connect(tuple(a.ready["ping"]))
        request = Pinger(uuid4()).request()
        asker.send(request)
        response = asker.recv(100)
        a.stop()
    [path] = recorded.glob("*-pings_0-*.pcap")
    with path.open("rb") as file:
        said = [packet.description.data for packet in captured_packets(read_frames(file))]
    assert said == [request, response]


def test_sessions_go_on_when_recording_stops(
    managers: tuple[ManagerProcess, ManagerProcess], tmp_path: Path
) -> None:
    a, b = managers
    transfer(a, b, "before")
    shutil.rmtree(tmp_path / "recorded")
    (tmp_path / "recorded").write_text("a file is in the way")
    transfer(a, b, "after")
    log = a.folder / "log"
    until(lambda: "recording stopped" in log.read_text(), "no warning was logged")
    transfer(a, b, "still")
