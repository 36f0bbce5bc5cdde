"""Values of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.arrivals.peers import Identity
from openmsmq.names.parts import host_key
from openmsmq.service.values import (
    ConsoleManagerEntry,
    HttpDestination,
    PeerEntry,
    RemoteManagerEntry,
    read_computers,
    read_console_managers,
    read_destinations,
    read_exceptions,
    read_hosts,
    read_identity,
    read_managers,
    read_masks,
    read_origin,
    read_path,
    read_peers,
    read_proxy,
    read_queue_redirections,
    read_redirections,
    read_schedule,
    read_text,
    split_address,
)

BANK = "6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("office", "office", 1801),
        ("office:1802", "office", 1802),
        ("10.0.0.7:1", "10.0.0.7", 1),
        ("[fe80::1]", "fe80::1", 1801),
        ("[fe80::1]:65535", "fe80::1", 65535),
    ],
)
def test_an_address_is_a_host_and_perhaps_a_port(text: str, host: str, port: int) -> None:
    assert split_address(text, 1801) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":1", "a:", "a:b", "a:0", "a:65536", "a b", "[a", "a\\b", "http://a", "[::1]x:1", "::1"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"needed|a port is"):
        split_address(text, 1801)


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        host, port = split_address(text, 1801)
    except ValueError:
        return
    assert host
    assert 1 <= port <= 65535


def test_a_peer_is_an_address_or_a_table_with_what_else_is_known() -> None:
    found = read_peers(
        {
            "office": "10.0.0.7",
            "bank": {"address": "b:1", "id": BANK},
            "hub": {"address": "h", "relay": True},
        }
    )
    assert found == {
        "office": PeerEntry("10.0.0.7"),
        "bank": PeerEntry("b:1", UUID(BANK)),
        "hub": PeerEntry("h", relay=True),
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (1, "a table of different names"),
        ({"a": "x", "A": "y"}, "a table of different names"),
        ({"a": "x:0"}, "a port is a number"),
        ({"a": 1}, "a text is needed"),
        ({"a": {}}, "a peer has an address"),
        ({"a": {"address": "x", "name": "y"}}, "a peer has an address"),
        ({"a": {"address": "x:0"}}, "a port is a number"),
        ({"a": {"address": "x", "id": "y"}}, "'y' is not a GUID"),
        ({"a": {"address": "x", "relay": 1}}, "true or false"),
        ({"a": {"address": "x", "certificate": "c.pem"}}, "certificate needs id"),
    ],
)
def test_what_is_no_peer_is_refused(given: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_peers(given)


@pytest.mark.parametrize("word", list(Identity))
def test_an_identity_is_one_of_three_words(word: str) -> None:
    assert read_identity(word) is Identity(word)


@pytest.mark.parametrize("given", ["", "Claimed", 1, None])
def test_any_other_identity_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="one of claimed, address, pinned is needed"):
        read_identity(given)


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (read_text, "a b", " a"),
        (read_path, "a/b", 1),
        (read_computers, ["a", "b"], "a"),
    ],
)
def test_each_reader_takes_its_own_values_and_refuses_others(
    read: object, good: object, bad: object
) -> None:
    assert callable(read)
    read(good)
    with pytest.raises(ValueError, match=r"needed|possible"):
        read(bad)


def test_settings_of_http_destinations_are_read() -> None:
    assert read_origin("https://mq.example.com:8443/") == "https://mq.example.com:8443"
    assert read_proxy("none") == "none"
    found = read_destinations({"Bank:443": {"proxy": "http://p:3128", "ca": "x.pem"}, "b": {}})
    expected = HttpDestination("http://p:3128", Path("x.pem"), None)
    assert found == {"bank:443": expected, "b": HttpDestination()}


def test_managers_of_a_console_are_read() -> None:
    given = {"shop02": {"address": "shop02:1811", "ca": "ca.pem", "token_file": "t"}}
    found = ConsoleManagerEntry("shop02:1811", Path("ca.pem"), Path("t"))
    assert read_console_managers(given) == {"shop02": found}
    wrong: list[object] = [{"ca": "x"}, {"address": "a:1", "token": "x"}, {"address": "a:b:c"}]
    for entry in wrong:
        with pytest.raises(ValueError, match=r"address"):
            read_console_managers({"shop02": entry})
    with pytest.raises(ValueError, match=r"needed"):
        read_console_managers([])
    with pytest.raises(ValueError, match=r"needed"):
        read_console_managers({"a\\b": {"address": "a"}})


def test_redirections_are_read() -> None:
    rules = {"http://*": "https://gate:8443", "*": "http://other/x"}
    assert read_redirections(rules) == rules
    assert list(read_redirections(rules)) == list(rules)
    queues = {"http://me/msmq/in*": "http://me/msmq/private$/orders"}
    assert read_queue_redirections(queues) == queues
    assert read_exceptions(["http://a/msmq/q", "https://b*"]) == ("http://a/msmq/q", "https://b*")
    assert read_schedule([30, 300]) == (30, 300)


@pytest.mark.parametrize(
    ("read", "given"),
    [
        (read_redirections, ["http://a"]),
        (read_redirections, {"a": "http://b"}),
        (read_redirections, {"http://a*b": "http://b"}),
        (read_redirections, {"http://a": "b"}),
        (read_redirections, {"http://a": "http://b:0"}),
        (read_redirections, {"http://a": "http://b*"}),
        (read_queue_redirections, {"http://a": "http://b"}),
        (read_exceptions, "http://a"),
        (read_exceptions, ["a"]),
        (read_schedule, []),
        (read_schedule, [0]),
        (read_schedule, [1] * 11),
        (read_schedule, 30),
    ],
)
def test_what_are_no_redirections_or_schedules_is_refused(
    read: Callable[[object], object], given: object
) -> None:
    with pytest.raises(ValueError, match=r"needed|port"):
        read(given)


@pytest.mark.parametrize(
    "given", ["mq", "ftp://mq", "http://", "http://mq/msmq", "http://a@b", "http://mq:0", 1]
)
def test_what_is_no_http_server_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"needed|port"):
        read_origin(given)


@pytest.mark.parametrize("given", [1, {"a": 1}, {"a": {"port": 1}}, {"a": {"posts_max": 0}}])
def test_what_are_no_settings_of_http_destinations_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"destination|settings|whole|number|from"):
        read_destinations(given)


def test_managers_to_read_are_read() -> None:
    given = {
        "Shop01": {"user": "backend", "password_file": "shop01.password"},
        "10.0.0.5": {"level": "none", "address": "10.0.0.5:2105"},
    }
    assert read_managers(given) == {
        host_key("shop01"): RemoteManagerEntry("backend", Path("shop01.password")),
        "10.0.0.5": RemoteManagerEntry(address="10.0.0.5:2105", level="none"),
    }


@pytest.mark.parametrize(
    "given",
    [
        1,
        {"a": 1},
        {"a": {"user": "u"}},
        {"a": {"user": "u", "password": "in clear"}},
        {"a": {"user": "u", "password_file": "f", "level": "most"}},
        {"a": {"user": "u", "password_file": "f", "address": "x:0"}},
    ],
)
def test_what_is_no_manager_to_read_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"needed|manager|port|one of"):
        read_managers(given)


def test_hosts_that_messages_are_passed_on_to_are_named_in_full() -> None:
    assert read_hosts(["http://shop02:8080/*"]) == ("http://shop02:8080/*",)
    for rule in ("*", "http://*", "http://shop*"):
        with pytest.raises(ValueError, match="name the host in full"):
            read_hosts([rule])


def test_masks_are_names_by_right() -> None:
    assert read_masks({"peek": ["card"]}) == {"peek": ("card",)}
    for wrong in ("card", {"king": ["card"]}, {"peek": "card"}, {"peek": [1]}):
        with pytest.raises(ValueError, match=r"."):
            read_masks(wrong)
