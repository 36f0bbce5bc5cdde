"""`openmsmq explain`."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.cli.commands import Cli


@pytest.fixture
def sent(cli: Cli) -> str:
    """The id of a message that was sent and received."""
    cli("queue", "create", "orders")
    [message_id] = cli.lines("message", "send", "orders", "--body", "hello")
    cli("message", "receive", "orders")
    return message_id


def test_the_history_of_a_message_is_shown_in_order(cli: Cli, sent: str) -> None:
    events = cli.objects("explain", sent)
    assert len(events) >= 2
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    assert {event["queue"] for event in events} == {r".\private$\orders"}
    assert all(event["text"] and event["event"] for event in events)
    lines = cli.lines("explain", sent)
    assert lines[0].split()[:3] == ["TIME", "EVENT", "QUEUE"]
    assert len(lines) == len(events) + 1
    for line, event in zip(lines[1:], events, strict=True):
        assert event["text"] in line


def test_the_guid_may_be_written_in_other_ways(cli: Cli, sent: str) -> None:
    guid, _, number = sent.partition("\\")
    assert cli.objects("explain", rf"{{{guid.upper()}}}\{number}") == cli.objects("explain", sent)


@pytest.mark.parametrize("text", ["", "x", "5", r"x\5", rf"{UUID(int=1)}", rf"{UUID(int=1)}\x"])
def test_what_is_no_id_is_wrong_usage(cli: Cli, sent: str, text: str) -> None:
    assert r"guid\number" in cli("explain", text, code=2).stderr


def test_nothing_known_has_its_reasons(cli: Cli, sent: str) -> None:
    result = cli("explain", rf"{UUID(int=1)}\5", code=1)
    assert "another queue manager sent it" in result.stderr
    result = cli("explain", sent + "0000", code=1)
    assert "never sent" in result.stderr
    assert "MiB" in result.stderr


def test_a_history_that_is_off_is_said(cli: Cli, sent: str) -> None:
    with cli.open() as manager:
        manager.configure(history=0)
    assert "switched off" in cli("explain", sent + "0000", code=1).stderr


def test_messages_are_found_by_label_and_time(cli: Cli) -> None:
    cli("queue", "create", "orders")
    ids = [
        cli.lines("message", "send", "orders", "--body", "x", "--label", f"order {n}")[0]
        for n in range(3)
    ]
    cli("message", "receive", "orders", "--lookup-id", str(first_of(cli)))
    found = cli.objects("explain", "--label", "ORDER *", "--since", "-1h")
    assert {event["id"] for event in found} == set(ids[1:]), "the first is kept nowhere"
    assert {event["event"] for event in found} == {"arrived"}
    lines = cli.lines("explain", "--label", "order 2")
    assert lines[0] == f"{ids[2]}  order 2"
    assert len(cli.objects("explain", "--label", "*", "--count", "1")) == 1
    cli("explain", "--label", "order 2", "--since", "2999-01-01", code=3)
    cli("explain", "--label", "nothing", code=3)
    cli("explain", code=2)
    cli("explain", ids[0], "--label", "order", code=2)
    cli("explain", "--label", "order", "--since", "yesterday", code=1)


def first_of(cli: Cli) -> int:
    """The place of the first message."""
    return int(cli.objects("message", "peek", "orders")[0]["lookup_id"])
