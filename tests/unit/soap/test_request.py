"""Requests as bytes."""

from __future__ import annotations

import pytest

from openmsmq.soap.request import request_to


def test_a_request_is_written_as_windows_does() -> None:
    request = request_to("http://Host:8080/MSMQ/private$/a b", "text/xml", b"<x/>")
    assert request.encode() == (
        b"POST /msmq/private$/a%20b HTTP/1.1\r\nHost: Host:8080\r\nContent-Type: text/xml\r\n"
        b'Content-Length: 4\r\nSOAPAction: "MSMQMessage"\r\n'
        b"Proxy-Accept: NonInteractiveClient\r\n\r\n<x/>"
    )


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a/msmq/q", "a"),
        ("https://[::1]:81/msmq/q", "[::1]:81"),
        (r"http://a\msmq\q", "a"),
    ],
)
def test_the_host_is_that_of_the_url(url: str, host: str) -> None:
    assert request_to(url, "text/xml", b"").host == host
