"""`openmsmq queue`."""

from __future__ import annotations

import os
from uuid import UUID, uuid4

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.limits import QUEUE_LABEL_MAX

TYPE = str(uuid4())
PROMISED = (
    "name", "id", "transactional", "journal", "messages", "bytes", "journal_messages",
    "oldest_age", "quota", "label", "state",
)  # fmt: skip
"What scripts rely on."


def test_the_history_of_a_queue_is_shown_with_who_did_what(cli: Cli) -> None:
    cli("queue", "create", "orders")
    cli("message", "send", "orders", "--body", "x", "--count", "3")
    cli("message", "receive", "orders")
    text = cli("queue", "history", "orders").output
    assert text.index("was received from") < text.index("arrived in")
    [received] = cli.objects("queue", "history", "orders", "--event", "received")
    assert (received["count"], received["event"]) == (1, "received")
    assert f"process {os.getpid()}" in received["by"]
    [last] = cli.objects("queue", "history", "orders", "--count", "1")
    assert last == received


def test_a_queue_is_created_with_its_properties(cli: Cli) -> None:
    arguments = (
        "--transactional", "--journal", "--quota", "10", "--journal-quota", "20",
        "--label", "all of them", "--authenticate", "--privacy", "body", "--base-priority", "-5",
        "--type", TYPE,
    )  # fmt: skip
    [made] = cli.objects("queue", "create", "orders", *arguments)
    assert (
        made.items()
        >= {
            "name": r".\private$\orders",
            "transactional": True,
            "journal": True,
            "quota": 10,
            "journal_quota": 20,
            "label": "all of them",
            "authenticate": True,
            "privacy": 2,
            "base_priority": -5,
            "type": TYPE,
            "messages": 0,
        }.items()
    )
    assert cli.objects("queue", "show", "orders") == [made]


def test_a_queue_is_plain_by_default(cli: Cli) -> None:
    assert cli.lines("queue", "create", "orders") == [r"created .\private$\orders"]
    [found] = cli.objects("queue", "show", "orders")
    assert set(PROMISED) <= found.keys()
    assert (found["transactional"], found["journal"], found["quota"]) == (False, False, None)
    assert found["oldest_age"] is None
    assert UUID(found["id"]).version == 4
    assert found["created"].endswith("Z")


@pytest.mark.parametrize(
    "name", ["orders", "ORDERS", r".\private$\orders", r"DIRECT=OS:.\private$\orders"]
)
def test_names_of_every_kind_are_taken(cli: Cli, name: str) -> None:
    cli("queue", "create", "orders")
    [found] = cli.objects("queue", "show", name)
    assert found["name"] == r".\private$\orders"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "orders"), 1, "QueueExists (0xC00E0005)"),
        (("create", "a\\b\\c"), 1, "IllegalQueuePathName (0xC00E0014)"),
        (("create", "new", "--label", "x" * (QUEUE_LABEL_MAX + 1)), 1, "0xC00E0018"),
        (("create", "new", "--quota", "-1"), 2, "-1"),
        (("create", "new", "--quota", "lots"), 2, "lots"),
        (("create", "new", "--privacy", "maybe"), 2, "maybe"),
        (("create", "new", "--type", "x"), 2, "x"),
        (("create",), 2, "NAME"),
        (("show", "nothing"), 1, "QueueNotFound (0xC00E0003)"),
        (("delete", "nothing"), 1, "QueueNotFound (0xC00E0003)"),
        (("purge", "nothing"), 1, "QueueNotFound (0xC00E0003)"),
        (("set", "nothing", "--journal"), 1, "QueueNotFound (0xC00E0003)"),
        (("set", "orders"), 2, "at least one"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_what_cannot_be_is_refused(
    cli: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    cli("queue", "create", "orders")
    assert words in cli("queue", *arguments, code=code).stderr


def test_properties_are_changed_and_others_stay(cli: Cli) -> None:
    cli("queue", "create", "orders", "--quota", "5", "--label", "old", "--journal")
    [changed] = cli.objects("queue", "set", "orders", "--quota", "none", "--no-journal")
    assert (changed["quota"], changed["journal"], changed["label"]) == (None, False, "old")
    assert cli.lines("queue", "set", "orders", "--label", "", "--privacy", "none") == [
        r"changed .\private$\orders"
    ]
    [changed] = cli.objects("queue", "show", "orders")
    assert (changed["label"], changed["privacy"]) == ("", 0)


def test_queues_are_listed_by_name(cli: Cli) -> None:
    for name in ("orders", "bills", "order-lines"):
        cli("queue", "create", name)
    cli.fill("full", b"12345")
    names = [found["name"] for found in cli.objects("queue", "list")]
    assert names == [rf".\private$\{n}" for n in ("bills", "full", "order-lines", "orders")]
    table = cli.lines("queue", "list")
    assert table[0].split()[:3] == ["NAME", "MESSAGES", "SIZE"]
    assert table[2].split()[:2] == [r".\private$\full", "1"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("ord*", ["orders"]),
        ("ORD*", ["orders"]),
        (r".\private$\b*", ["bills"]),
        ("*", ["bills", "orders"]),
        ("bill", []),
    ],
)
def test_a_pattern_chooses(cli: Cli, pattern: str, names: list[str]) -> None:
    for name in ("orders", "bills"):
        cli("queue", "create", name)
    found = cli.objects("queue", "list", pattern)
    assert [queue["name"].rpartition("\\")[2] for queue in found] == names


def test_a_queue_is_shown_to_people(cli: Cli) -> None:
    cli("queue", "create", "orders", "--quota", "2048", "--label", "[red]x", "--transactional")
    shown = dict(line.split("  ", 1) for line in cli.lines("queue", "show", "orders"))
    values = {name.strip(): value.strip() for name, value in shown.items()}
    assert values["name"] == r".\private$\orders"
    assert values["label"] == "[red]x"
    assert values["quota"] == "2.0 MiB"
    assert values["messages"] == "0 messages, 0 B"
    assert values["kind"] == "private, transactional"
    assert values["privacy"] == "optional"
    assert "oldest" not in values
    assert "type" not in values


def test_what_has_no_journal_says_nothing_of_one(cli: Cli) -> None:
    cli("queue", "create", "orders")
    assert "in the journal" in cli("queue", "show", "orders").stdout
    assert "in the journal" not in cli("queue", "show", r".\DeadLetter$").stdout


def test_everything_is_listed_when_asked_for(cli: Cli) -> None:
    cli.fill("orders", b"1")
    [first] = cli.objects("message", "peek", "orders")
    cli("message", "move", "orders", "--lookup-id", str(first["lookup_id"]), "--to", "retry")
    names = {found["name"]: found["kind"] for found in cli.objects("queue", "list", "--all")}
    assert names[r".\private$\orders"] == "private"
    assert names[r".\private$\orders;retry"] == "subqueue"
    assert names[r".\DeadLetter$"] == "system"
    assert cli.objects("queue", "list", r".\DeadLetter$") == []


def test_the_use_of_a_quota_is_shown(cli: Cli) -> None:
    cli("queue", "create", "none", "--quota", "0")
    cli("queue", "create", "orders", "--quota", "10")
    cli("message", "send", "orders", "--body", "x" * 2500)
    none, orders = cli.lines("queue", "list")[1:]
    assert "0 B" in none
    assert "% of 10.0 KiB" in orders


def test_a_queue_is_deleted_with_its_messages(cli: Cli) -> None:
    cli.fill("orders", b"1", b"2")
    assert cli.lines("queue", "delete", "orders", "--yes") == [r"deleted .\private$\orders"]
    assert cli.objects("queue", "list") == []


def test_a_queue_is_purged(cli: Cli) -> None:
    cli.fill("orders", b"1", b"2")
    done = cli.lines("queue", "purge", "orders", "--yes")
    assert done == [r"removed 2 messages of .\private$\orders"]
    expected = {"name": r".\private$\orders", "purged": 0}
    assert cli.objects("queue", "purge", "orders") == [expected]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("command", ["delete", "purge"])
def test_a_person_is_asked_before_messages_go(cli: Cli, command: str) -> None:
    cli.fill("orders", b"1", b"2")
    result = cli("queue", command, "orders", stdin="n\n", code=1)
    assert "2 messages" in result.stderr
    assert cli.bodies("orders") == [b"1", b"2"]
    cli("queue", command, "orders", stdin="y\n")
    cli.fill("others", b"1")
    assert "?" not in cli("queue", command, "others", "--yes").stderr


@pytest.mark.parametrize("command", ["delete", "purge"])
def test_off_a_terminal_messages_go_only_with_yes(cli: Cli, command: str) -> None:
    cli.fill("orders", b"1", b"2")
    result = cli("queue", command, "orders", stdin="y\n", code=2)
    assert "2 messages" in result.stderr
    assert "not a terminal" in result.stderr
    assert "--yes" in result.stderr
    assert cli.bodies("orders") == [b"1", b"2"]
    cli("queue", command, "orders", "--yes")


@pytest.mark.parametrize("command", ["delete", "purge"])
def test_an_empty_queue_needs_no_yes(cli: Cli, command: str) -> None:
    cli("queue", "create", "orders")
    cli("queue", command, "orders")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("command", ["delete", "purge"])
def test_an_empty_queue_is_deleted_without_a_question(cli: Cli, command: str) -> None:
    cli("queue", "create", "orders")
    assert "?" not in cli("queue", command, "orders").output


def test_what_becomes_of_poison_can_be_set_and_seen(cli: Cli) -> None:
    cli("queue", "create", "orders", "--transactional", "--abort-limit", "1")
    assert "poison          after 1 abort to ;poison" in cli("queue", "show", "orders").stdout
    cli("queue", "set", "orders", "--retry-delay", "30", "--poison", "dead-letter")
    words = "aborted messages rest for 30 s, after 1 abort to the dead-letter queue"
    assert f"poison          {words}" in cli("queue", "show", "orders").stdout
    [shown] = cli.objects("queue", "show", "orders")
    assert (shown["abort_limit"], shown["retry_delay"], shown["poison"]) == (1, 30, "dead-letter")
    cli("queue", "set", "orders", "--abort-limit", "0", "--retry-delay", "0")
    assert "poison" not in cli("queue", "show", "orders").stdout


def test_in_a_plain_queue_nothing_is_aborted(cli: Cli) -> None:
    refused = cli("queue", "create", "orders", "--abort-limit", "1", code=1)
    assert "abort_limit: nothing is aborted in a plain queue" in refused.stderr


def test_delayed_messages_are_asked_about_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("queue", "create", "orders")
    cli("message", "send", "orders", "--delay", "3600")
    [purged] = cli.objects("queue", "purge", "orders", "--yes")
    assert purged["purged"] == 1


def test_a_queue_that_exists_is_left_as_it_is_if_missing(cli: Cli) -> None:
    cli("queue", "create", "orders", "--if-missing", "--label", "first")
    assert "exists" in cli("queue", "create", "orders", "--if-missing", "--label", "x").stdout
    assert cli.objects("queue", "show", "orders")[0]["label"] == "first"
    cli("queue", "create", "orders", "--if-missing", "--transactional", code=1)
