"""Queues by URI."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.soap.addresses import address_of, destination_at, is_url, queue_at, request_target


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("http://machine2/msmq/private$/q", "DIRECT=http://machine2/msmq/private$/q"),
        ("HTTPS://m:8443/MSMQ/Q", "DIRECT=HTTPS://m:8443/MSMQ/Q"),
        ("http://m/msmq/private$/q?SenderStream=X", "DIRECT=http://m/msmq/private$/q"),
        ("http://m/msmq/private%24/q", "DIRECT=http://m/msmq/private$/q"),
        ("http://m/msmq/a%20b%C3%A9", "DIRECT=http://m/msmq/a b\u00e9"),
        ("MSMQ:DIRECT=OS:m\\private$\\q", "DIRECT=OS:m\\private$\\q"),
        ("msmq:MULTICAST=234.1.1.1:8001", "MULTICAST=234.1.1.1:8001"),
    ],
)
def test_a_uri_names_a_queue(uri: str, name: str) -> None:
    """SRMP-063, SRMP-143, SRMP-145: the query belongs to the address, not to the queue."""
    assert str(queue_at(uri, "to")) == name


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "OS:m\\q",
        "DIRECT=OS:m\\q",
        "http://m/other/q",
        "http://m/msmq/",
        "http:///msmq/q",
        "http://m:99999/msmq/q",
        "http://m/msmq/%ff",
        "http://m/msmq/a%00b",
        "http://m/msmq/private$/a/b",
        "MSMQ:",
        "MSMQ:nonsense",
    ],
)
def test_what_names_no_queue_is_refused(uri: str) -> None:
    with pytest.raises(Malformed, match="sendTo"):
        queue_at(uri, "sendTo")


@pytest.mark.parametrize("text", ["http://m/msmq/q", "HTTPS://m/msmq/a%b #?c", "OS:m\\private$\\q"])
def test_the_address_of_a_queue_names_it_again(text: str) -> None:
    queue = parse_format_name(f"DIRECT={text}")
    assert queue_at(address_of(queue), "to") == queue


def test_addresses_are_written_without_direct_and_with_escapes() -> None:
    """SRMP-061, SRMP-070: `MSMQ:` stands before names that are no URL (HTTP-19)."""
    queue = parse_format_name("DIRECT=HTTP://m/msmq/a b%")
    assert address_of(queue) == "HTTP://m/msmq/a%20b%25"
    assert address_of(parse_format_name("DIRECT=OS:m\\q")) == "MSMQ:DIRECT=OS:m\\q"


def test_only_http_and_multicast_are_destinations() -> None:
    """SRMP-062, SRMP-063."""
    assert str(destination_at("MSMQ:MULTICAST=234.1.1.1:8001")) == "MULTICAST=234.1.1.1:8001"
    assert str(destination_at("https://m/msmq/q")) == "DIRECT=https://m/msmq/q"
    for uri in ("MSMQ:DIRECT=OS:m\\q", "MSMQ:DIRECT=HTTP://m/msmq/q"):
        with pytest.raises(Malformed, match=r"path\.to"):
            destination_at(uri)


def test_the_target_of_a_request_is_the_path_in_small_letters() -> None:
    """What HTTP cannot carry is escaped; `$` is not."""
    assert request_target("http://Machine2/MSMQ/private$/simpleQ") == "/msmq/private$/simpleq"
    assert request_target("http://m:80/MSMQ\\private$\\q?S=X") == "/msmq/private$/q?s=x"
    assert request_target("http://m/msmq/\u00e9 a") == "/msmq/%C3%A9%20a"


def test_urls_are_recognised_in_any_letter_case() -> None:
    assert is_url("HTTP://m")
    assert is_url("https://m")
    assert not is_url("MSMQ:http://m")
