"""Failed connections are explained by what was found at the other end."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from tests.certificates import make_certificates

from openmsmq.client.address import Address
from openmsmq.client.diagnosis import (
    CLOSED,
    CONSOLE_PORT,
    NO_TLS,
    OTHER_PORT,
    SPEAKS_TLS,
    explain_answer,
    explain_failure,
    explain_silence,
)

HERE = Address("127.0.0.1", 1811)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.0 400 Bad Request\r\n", CONSOLE_PORT),
        (b"\x15\x03\x03\0\2\2\x46", SPEAKS_TLS),
        (b"\x15\x02", ""),
        (b"", ""),
        (b"220 mail ESMTP", ""),
    ],
)
def test_the_first_bytes_show_another_protocol(data: bytes, words: str) -> None:
    assert explain_answer(data) == words


def refused(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def test_a_failed_handshake_says_that_there_is_no_tls() -> None:
    assert explain_failure(refused("WRONG_VERSION_NUMBER"), HERE) == f"127.0.0.1:1811: {NO_TLS}"
    assert "TLSV1_ALERT" in explain_failure(refused("TLSV1_ALERT"), HERE)


def test_an_untrusted_certificate_is_reported_with_the_reason() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate."
    assert explain_failure(error, HERE) == (
        "127.0.0.1:1811: the certificate of the server is not trusted: self-signed certificate"
    )


def test_system_errors_are_reported_without_their_numbers() -> None:
    assert explain_failure(ConnectionRefusedError(111, "Connection refused"), HERE) == (
        "127.0.0.1:1811: Connection refused"
    )
    assert "no answer" in explain_failure(TimeoutError(), HERE)


def test_a_probe_tells_a_port_with_tls_from_one_that_only_closes(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, context.wrap_socket(connection, server_side=True):
                pass
            listener.accept()[0].close()

        thread = threading.Thread(target=serve)
        thread.start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        assert explain_silence(address) == SPEAKS_TLS
        assert explain_silence(address) == OTHER_PORT
        thread.join()
    assert explain_silence(address) == OTHER_PORT, "it is gone meanwhile"


def test_nothing_is_probed_where_no_answer_could_help() -> None:
    context = ssl.create_default_context()
    assert explain_silence(Address(socket="/run/app")) == CLOSED
    assert explain_silence(Address("127.0.0.1", 1, tls=context)) == CLOSED
