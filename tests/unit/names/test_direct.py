"""Direct format names: every protocol, every form of queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openmsmq.errors import IllegalFormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parts import Suffix
from openmsmq.names.path import PathName

OS, TCP, HTTP, HTTPS, IPX = Protocol.OS, Protocol.TCP, Protocol.HTTP, Protocol.HTTPS, Protocol.IPX
JOURNAL, DEADXACT = Suffix.JOURNAL, Suffix.DEADXACT


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (r"OS:a04bm02\q", DirectName(OS, "a04bm02", "q")),
        (r"OS:.\private$\q", DirectName(OS, ".", "q", private=True)),
        (r"OS:h\private$\q;retry", DirectName(OS, "h", "q", True, "retry")),
        (r"OS:h\q;JOURNAL", DirectName(OS, "h", "q", suffix=JOURNAL)),
        (r"OS:h\SYSTEM$;DEADXACT", DirectName(OS, "h", suffix=DEADXACT)),
        (r"TCP:192.0.2.9\q2", DirectName(TCP, "192.0.2.9", "q2")),
        (r"TCP:fe80::1\private$\q", DirectName(TCP, "fe80::1", "q", private=True)),
        (r"IPX:1:2A\q", DirectName(IPX, "1:2A", "q")),
        ("HTTP://h/msmq/q", DirectName(HTTP, "h", "q")),
        ("HTTP://h:8080/msmq/private$/q;s", DirectName(HTTP, "h", "q", True, "s", port=8080)),
        ("HTTPS://[::1]/msmq/q", DirectName(HTTPS, "::1", "q")),
        ("HTTPS://[::1]:444/msmq/q", DirectName(HTTPS, "::1", "q", port=444)),
        ("HTTP://h/msmq/SYSTEM$;DEADXACT", DirectName(HTTP, "h", suffix=DEADXACT)),
    ],
)
def test_direct_names_parse_and_print(text: str, name: DirectName) -> None:
    """MQQB-146."""
    assert name.wire_text == text
    assert str(name) == f"DIRECT={text}"
    assert repr(DirectName.from_wire(text)) == repr(name)
    assert DirectName.from_wire(text.swapcase()) == name


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"os:HOST\PRIVATE$\Q", r"OS:host\private$\q"),
        (r"TCP:[::1]\q", r"TCP:0:0:0:0:0:0:0:1\q"),
        ("HTTP://h:80/msmq/q", "http://H/MSMQ/Q"),
        ("HTTPS://h:443/msmq/q", "https://h/msmq/q"),
        ("HTTP://h:/msmq/q", "HTTP://h/msmq/q"),
        ("HTTP://h:0080/msmq/q", "HTTP://h/msmq/q"),
        (r"HTTP://h/msmq\private$\q", "HTTP://h/msmq/private$/q"),
        (r"SPX:00000001.00000000002a\q", r"IPX:1:2A\q"),
    ],
)
def test_spellings_of_one_name_are_equal(a: str, b: str) -> None:
    """MQQB-147 for the ports."""
    first, second = DirectName.from_wire(a), DirectName.from_wire(b)
    assert first == second
    assert hash(first) == hash(second)
    assert first.wire_text == a
    assert second.wire_text == b


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"OS:127.0.0.1\q", r"TCP:127.0.0.1\q"),
        (r"OS:h\q", r"OS:h\private$\q"),
        (r"OS:h\q", r"OS:h\q;s"),
        (r"OS:h\q", r"OS:h\q;JOURNAL"),
        ("HTTP://h/msmq/q", "HTTPS://h/msmq/q"),
        ("HTTP://h:443/msmq/q", "HTTP://h/msmq/q"),
        ("HTTP://[::1]:8080/msmq/q", "HTTP://[::1:8080]/msmq/q"),
    ],
)
def test_different_names_are_not_equal(a: str, b: str) -> None:
    assert DirectName.from_wire(a) != DirectName.from_wire(b)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the protocol is '', not one of TCP, OS, HTTP, HTTPS, IPX, SPX"),
        (r"FTP:h\q", "the protocol is 'FTP'"),
        ("OS:h", "a backslash and a queue must follow the address"),
        ("OS:h\\", "the queue name is empty"),
        ("OS:\\q", "the computer name is empty"),
        ("OS:a,b\\q", "the computer name 'a,b' has ',' at position 2"),
        (r"OS:h\q\Journal$", r"the queue name 'q\Journal$' has '\' at position 2"),
        (r"OS:h\Journal$", "Journal$ is a reserved word"),
        (r"TCP:host\q", "'host' is no IP address; names of computers go with OS:"),
        (r"TCP:[::1\q", "'[::1' is no IP address"),
        (r"TCP:127.0.0.01\q", "'127.0.0.01' is no IP address"),
        (r"IPX:xyz:1\q", "is not a network and a host number"),
        ("HTTP:h/msmq/q", "an HTTP address is //host[:port]/msmq/queue"),
        ("HTTP:x//h/msmq/q", "an HTTP address is //host[:port]/msmq/queue"),
        ("HTTP://h/mq/q", "an HTTP address is //host[:port]/msmq/queue"),
        ("HTTP://h/msmq", "the queue name is empty"),
        ("HTTP:///msmq/q", "the computer name is empty"),
        ("HTTP://[h]/msmq/q", "'[h]' is no host of an HTTP address"),
        ("HTTP://[a:b]/msmq/q", "'a:b' is no IP address"),
        ("HTTP://::1/msmq/q", "the port ':1' is not a number"),
        ("HTTP://h:x/msmq/q", "the port 'x' is not a number of at most five digits"),
        ("HTTP://h:100000/msmq/q", "is not a number of at most five digits"),
        ("HTTP://h:65536/msmq/q", "the port 65536 is not between 1 and 65535"),
        ("HTTP://h:0/msmq/q", "the port 0 is not between 1 and 65535"),
    ],
)
def test_what_is_no_direct_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    """MQQB-146."""
    with pytest.raises(IllegalFormatName) as caught:
        DirectName.from_wire(text)
    assert reason in caught.value.detail
    assert caught.value.detail.startswith("'DIRECT=")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ((OS, "h", "q", False, "", Suffix.NONE, 80), "OS names have no port"),
        ((HTTP, "a/b", "q"), "is no host of an HTTP address"),
        ((HTTP, "h", "a/b"), "a slash separates the parts"),
        ((HTTP, "h", "q", False, "a/b"), "a slash separates the parts"),
        ((OS, "h", "q", False, "", Suffix.XACTONLY), "a queue has no XACTONLY"),
    ],
)
def test_parts_that_could_not_be_printed_are_refused(
    name: tuple[Protocol, str], reason: str
) -> None:
    with pytest.raises(IllegalFormatName) as caught:
        DirectName(*name)
    assert reason in caught.value.detail


def test_a_slash_is_an_ordinary_character_outside_http() -> None:
    assert DirectName.from_wire(r"OS:h\a/b").queue == "a/b"


def test_a_changed_copy_has_its_own_text() -> None:
    name = DirectName.from_wire(r"os:H\PRIVATE$\Q;Retry")
    assert str(replace(name, subqueue="")) == r"DIRECT=OS:H\private$\Q"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r"OS:h\private$\q;s", PathName("h", "q", True, "s")),
        (r"TCP:10.0.0.1\q;JOURNAL", PathName("10.0.0.1", "q", suffix=JOURNAL)),
        ("HTTP://h:8080/msmq/private$/q", PathName("h", "q", True)),
    ],
)
def test_a_direct_name_has_a_path_name(text: str, path: PathName) -> None:
    """The host of a URL, else the address, then the queue (DMPR-182)."""
    assert PathName.from_direct(DirectName.from_wire(text)) == path


def test_journals_and_dead_letter_queues_are_read_only() -> None:
    assert not DirectName.from_wire(r"OS:h\q;s").is_read_only
    assert DirectName.from_wire(r"OS:h\q;JOURNAL").is_read_only
    assert DirectName.from_wire(r"OS:h\SYSTEM$;DEADLETTER").is_read_only


def test_the_host_to_compare_has_only_an_unusual_port() -> None:
    assert DirectName.from_wire("HTTP://h:80/msmq/q").host_key == "H"
    assert DirectName.from_wire("HTTP://h:81/msmq/q").host_key == "H:81"
    assert DirectName.from_wire("HTTP://[::1]:81/msmq/q").host_key == "[::1]:81"
