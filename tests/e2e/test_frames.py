"""The example of [MS-MQQB] 4.1, played against a real service over real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from openmsmq import Manager
from openmsmq.packet.connection import EstablishConnection, SessionAck
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.ping import PingPacket
from openmsmq.wire.reader import decode_whole
from tests.e2e.managers import PATIENCE, ManagerProcess, running
from tests.vectors.test_session import (
    ACK,
    AGREED,
    ESTABLISH,
    ESTABLISHED,
    MESSAGE,
    PARAMETERS,
    PING,
    PONG,
    UNSET,
    differences,
    established,
    frame,
)

SERVER = slice(36, 52)
"EstablishConnectionHeader.ServerGuid."
ACK_TIMEOUT = slice(24, 28)
SENT_TIME = slice(52, 56)
MESSAGE_ID = slice(56, 60)
GUIDS = [f"EstablishConnectionHeader.{side}Guid" for side in ("Client", "Server")]
WINDOW = "WindowSize"
"We offer more than the 64 of the example."


def patched(name: str, place: slice, value: bytes) -> bytes:
    """A frame with other bytes at one place."""
    data = bytearray(frame(name))
    data[place] = value
    return bytes(data)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    """The computer that the example sends to."""
    folder = tmp_path_factory.mktemp("frames")
    manager = ManagerProcess(folder, "a04bm02", options=("--ping-port", "0"))
    with running(manager):
        yield manager


@pytest.fixture
def manager(service: ManagerProcess) -> Iterator[Manager]:
    with service.connect() as connected:
        yield connected


class Raw:
    """A connection on which frames are written by hand."""

    def __init__(self, service: ManagerProcess) -> None:
        self._socket = socket.create_connection(service.place, PATIENCE)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def take(self, size: int) -> bytes:
        """The next bytes."""
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, f"the connection ended after {data!r}"
            data += more
        return data

    def rest(self) -> bytes:
        """All that comes until the other side closes."""
        data = b""
        while more := self._socket.recv(65536):
            data += more
        return data

    def open(self, service: ManagerProcess, ack_timeout: int = 120_000) -> None:
        """Frames 3 to 6."""
        self.send(patched(ESTABLISH, SERVER, UUID(service.id).bytes_le))
        self.take(len(frame(ESTABLISHED)))
        self.send(patched(PARAMETERS, ACK_TIMEOUT, ack_timeout.to_bytes(4, "little")))
        self.take(len(frame(AGREED)))


def test_frames_1_and_2_ping(service: ManagerProcess) -> None:
    """MQQB-132, MQQB-133, MQQB-136: the 14 unused bits of the flags are 0 here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(PATIENCE)
        asker.sendto(b"not a ping", tuple(service.ready["ping"]))
        asker.sendto(frame(PING), tuple(service.ready["ping"]))
        answer, source = asker.recvfrom(1000)
    assert source == tuple(service.ready["ping"])
    assert differences(answer, PONG) == ["Flags", "QMGuid"]
    response, printed = (decode_whole(data, PingPacket.read) for data in (answer, frame(PONG)))
    assert response.flags == printed.flags & 0b11
    assert response.qm_guid == UUID(service.id)


@pytest.mark.parametrize("meant", ["this manager", "anyone"])
def test_frames_3_to_6_handshake(service: ManagerProcess, meant: str) -> None:
    """MQQB-185, MQQB-186, MQQB-187, MQQB-190."""
    own = UUID(service.id)
    with Raw(service) as raw:
        server = own if meant == "this manager" else NO_GUID
        raw.send(patched(ESTABLISH, SERVER, server.bytes_le))
        answer = raw.take(len(frame(ESTABLISHED)))
        assert differences(answer, ESTABLISHED) == [UNSET, *GUIDS]
        packet = decode_packet(answer)
        assert isinstance(packet, EstablishConnection)
        assert packet.header.client_guid == established(ESTABLISH).header.client_guid
        assert packet.header.server_guid == own
        raw.send(frame(PARAMETERS))
        agreed = raw.take(len(frame(AGREED)))
        assert differences(agreed, AGREED) == [UNSET, f"ConnectionParametersHeader.{WINDOW}"]


def test_frames_7_and_8_message(service: ManagerProcess, manager: Manager) -> None:
    """DMPR-005, MQQB-107, MQQB-206, MQQB-209, MQQB-239: the message is in the queue that it names.

    Frame 7 was sent in 2013, by its SentTime, and had four days; here it is sent now. The time-out
    of frame 5 is shorter, as half of its two minutes would pass before frame 8.
    """
    queue = manager.create_queue(".\\q")
    with Raw(service) as raw:
        raw.open(service, ack_timeout=2000)
        started = time.monotonic()
        message = patched(MESSAGE, SENT_TIME, int(time.time()).to_bytes(4, "little"))
        raw.send(message)
        answer = raw.take(len(frame(ACK)))
        assert time.monotonic() - started > 0.9, "half of the time-out"
        assert differences(answer, ACK) == [UNSET, f"SessionHeader.{WINDOW}"]
        found = queue.receive(timeout=PATIENCE)
        assert found.label == "mqsender label"
        assert found.body == frame(MESSAGE)[222:2222]
        assert found.id == "557358d1-9150-9595-4997-b6e611ea26c6\\2286"
        assert found.body_type == 8
        raw.send(message)  # and once more
        raw.take(len(frame(ACK)))
    assert queue.info().messages == 0


def test_frame_7_as_it_is_printed_has_expired(service: ManagerProcess, manager: Manager) -> None:
    """MQQB-237, MQQB-250, MQQB-253: it is acknowledged all the same."""
    with Raw(service) as raw:
        raw.open(service, ack_timeout=100)
        raw.send(patched(MESSAGE, MESSAGE_ID, b"\1\2\3\4"))  # or it would be known already
        answer = raw.take(len(frame(ACK)))
        assert differences(answer, ACK) == [UNSET, f"SessionHeader.{WINDOW}"]
    assert manager.statistics()["rejected"] >= 1


def test_a_message_without_a_greeting_gets_an_acknowledgement_and_no_more(
    service: ManagerProcess, manager: Manager
) -> None:
    """MQQB-225: as MSMQ does; nothing is taken, and nothing acknowledged."""
    queue = manager.create_queue(".\\early")
    sent = int(time.time()).to_bytes(4, "little")
    with Raw(service) as raw:
        raw.send(patched(MESSAGE, SENT_TIME, sent))
        answer = decode_packet(raw.rest())
    assert isinstance(answer, SessionAck)
    assert answer.header.ack_sequence_number == 0
    assert answer.header.recoverable_msg_ack_flags == 0
    assert queue.info().messages == 0
    assert all(info.messages == 0 for info in manager.queues())


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: a04bm02\r\n\r\n",
        bytes(100),
        patched(ESTABLISH, slice(0, 1), b"\x11"),
        patched(ESTABLISH, slice(8, 12), b"\xff\xff\xff\xff"),
        patched(MESSAGE, slice(64, 66), b"\xff\xff"),
    ],
    ids=["http", "zeros", "another version", "endless", "a name too long"],
)
def test_what_is_malformed_closes_the_connection_without_a_byte(
    service: ManagerProcess, data: bytes
) -> None:
    """MQQB-344."""
    with Raw(service) as raw:
        raw.send(data)
        assert raw.rest() == b""


def test_a_malformed_packet_ends_an_open_session_too(service: ManagerProcess) -> None:
    """MQQB-183, MQQB-344."""
    for wrong in (b"\0" * 16, frame(PARAMETERS), frame(ESTABLISH)):
        with Raw(service) as raw:
            raw.open(service)
            raw.send(wrong)
            assert raw.rest() == b""


def test_another_manager_is_not_here(service: ManagerProcess) -> None:
    """MQQB-188: frame 3 as it is printed means another manager; it learns who is here."""
    with Raw(service) as raw:
        raw.send(frame(ESTABLISH))
        answer = decode_packet(raw.rest())
    assert isinstance(answer, EstablishConnection)
    assert answer.refused
    assert answer.header.server_guid == UUID(service.id)


def test_a_session_that_no_one_ends_ends_with_the_service(tmp_path: Path) -> None:
    """MQQB-348."""
    manager = ManagerProcess(tmp_path, "short")
    with running(manager), Raw(manager) as raw:
        raw.open(manager)
        manager.stop()
        assert raw.rest() == b""
