"""Sockets that threads share, with TLS and without."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import make_certificates
from tests.unit.client.adapter import PATIENCE, start

from openmsmq.client.address import Address
from openmsmq.client.shared_socket import SharedSocket

Pair = tuple[SharedSocket, socket.socket]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


@pytest.fixture(params=["plain", "tls"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A wire, and the other side of it."""
    context, client = None, None
    if request.param == "tls":
        folder: Path = request.getfixturevalue("certificates")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        client = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1], tls=client)
        connecting = start(lambda: SharedSocket.connect(address, PATIENCE))
        other, _ = listener.accept()
        other.settimeout(PATIENCE)
        if context is not None:
            other = context.wrap_socket(other, server_side=True)
    wire = connecting.result(PATIENCE)
    yield wire, other
    wire.close()
    other.close()


def test_what_comes_is_received(pair: Pair) -> None:
    wire, other = pair
    while wire.wait_to_receive(0.01):
        assert wire.receive() is None  # what TLS itself has to say
    other.sendall(b"abc")
    found = None
    while found is None:
        assert wire.wait_to_receive(PATIENCE)
        found = wire.receive()
    assert found == b"abc"


def test_what_is_left_of_a_record_is_not_waited_for(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS decrypts more than was asked for, and the socket has nothing more to tell."""
    wire, other = pair
    monkeypatch.setattr("openmsmq.client.shared_socket._CHUNK", 10)
    other.sendall(b"x" * 100)
    found = b""
    while len(found) < 100:
        assert wire.wait_to_receive(PATIENCE)
        found += wire.receive() or b""


def test_the_end_is_received_as_nothing(pair: Pair) -> None:
    wire, other = pair
    other.close()
    found: bytes | None = None
    while found is None:
        assert wire.wait_to_receive(PATIENCE)
        found = wire.receive()
    assert found == b""


def test_as_much_is_sent_as_goes(pair: Pair) -> None:
    wire, other = pair
    data = memoryview(bytes(range(256)) * (1 << 15))
    left = data
    while wire.wait_to_send(0.1):
        left = left[wire.send(left) :]
    assert 0 < len(left) < len(data)
    reading = start(lambda: _read(other, len(data)))
    while left:
        assert wire.wait_to_send(PATIENCE)
        left = left[wire.send(left) :]
    assert reading.result(PATIENCE) == data


def _read(other: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        found += other.recv(1 << 16)
    return bytes(found)


def test_one_reads_while_another_writes(pair: Pair) -> None:
    wire, other = pair
    data = b"x" * (4 << 20)

    def echo() -> None:
        other.sendall(_read(other, len(data)))

    def write() -> None:
        left = memoryview(data)
        while left:
            wire.wait_to_send(PATIENCE)
            left = left[wire.send(left) :]

    threads = [threading.Thread(target=work) for work in (echo, write)]
    for thread in threads:
        thread.start()
    found = bytearray()
    while len(found) < len(data):
        assert wire.wait_to_receive(PATIENCE)
        found += wire.receive() or b""
    for thread in threads:
        thread.join(PATIENCE)
    assert found == data


def test_who_waits_can_also_wait_for_room(pair: Pair) -> None:
    wire, _ = pair
    while wire.wait_to_receive(0.01):
        wire.receive()
    assert wire.wait_to_receive(PATIENCE, or_to_send=True)


def test_shutting_a_socket_down_wakes_its_reader(pair: Pair) -> None:
    wire, _ = pair
    waiting = start(lambda: [wire.wait_to_receive(PATIENCE) for _ in range(3)])
    wire.shut_down()
    waiting.result(PATIENCE)
    wire.close()
    wire.close()
    wire.shut_down()
    with pytest.raises(OSError, match="Bad file descriptor"):
        wire.send(memoryview(b"x"))


def test_an_unknown_certificate_is_refused(certificates: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1], tls=ssl.create_default_context())
        connecting = start(lambda: SharedSocket.connect(address, PATIENCE))
        other, _ = listener.accept()
        with pytest.raises(ssl.SSLError), context.wrap_socket(other, server_side=True):
            pass
        with pytest.raises(ssl.SSLCertVerificationError):
            connecting.result(PATIENCE)


def test_where_nothing_is_there_is_no_wire(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SharedSocket.connect(Address(socket=str(tmp_path / "none")), PATIENCE)
