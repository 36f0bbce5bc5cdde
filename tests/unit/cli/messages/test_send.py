"""`openmsmq message send`."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.cli.commands import Cli

from openmsmq import Acknowledge, ReceivedMessage
from openmsmq.cli.messages import send as message_send


@pytest.fixture
def orders(cli: Cli) -> Cli:
    """A plain queue."""
    cli("queue", "create", "orders")
    return cli


def sent(cli: Cli, *arguments: str, stdin: bytes | None = None) -> ReceivedMessage:
    """The message that is in the queue when it was sent."""
    cli("message", "send", "orders", *arguments, stdin=stdin)
    with cli.open() as manager:
        return manager.open_queue("orders").receive(timeout=0)


def test_a_message_is_empty_by_default(orders: Cli) -> None:
    message = sent(orders)
    assert (message.body, message.body_type, message.label) == (b"", 0, "")
    assert (message.priority, message.recoverable, message.app_specific) == (3, True, 0)


def test_every_property_can_be_given(orders: Cli, tmp_path: Path) -> None:
    (tmp_path / "extension").write_bytes(b"\0\1")
    message = sent(
        orders,
        "--body", "text", "--label", "l", "--priority", "7", "--recoverable", "--journal",
        "--dead-letter", "--acknowledge", "arrival,negative-receive", "--admin-queue", "admin",
        "--response-queue", r"DIRECT=OS:other\private$\answers", "--correlation-id", "0102",
        "--app-specific", "42", "--extension-file", str(tmp_path / "extension"),
        "--time-to-be-received", "60", "--time-to-reach-queue", "3600.5", "--trace",
    )  # fmt: skip
    assert message.text == "text"
    assert message.body_type == 31
    assert (message.label, message.priority, message.app_specific) == ("l", 7, 42)
    assert message.journal
    assert message.dead_letter
    assert message.trace
    assert message.acknowledge == Acknowledge.POS_ARRIVAL | Acknowledge.NEG_RECEIVE
    assert str(message.admin_queue).endswith(r"private$\admin")
    assert str(message.response_queue) == r"DIRECT=OS:other\private$\answers"
    assert message.correlation_id == b"\1\2" + bytes(18)
    assert message.extension == b"\0\1"
    assert (message.time_to_be_received, message.time_to_reach_queue) == (60, 3601)


def test_a_message_is_like_another_but_for_what_is_said(orders: Cli) -> None:
    orders("queue", "create", "old")
    orders("message", "send", "old", "--body", "a", "--label", "l", "--priority", "6", "--journal")
    with orders.open() as manager:
        lookup = str(manager.open_queue("old").peek(timeout=0).lookup_id)
    same = sent(orders, "--like", "old", lookup)
    assert (same.text, same.label, same.priority, same.journal) == ("a", "l", 6, True)
    other = sent(
        orders, "--like", "old", lookup, "--body", "b", "--label", "", "--app-specific", "4"
    )
    assert (other.text, other.label, other.priority, other.app_specific) == ("b", "", 6, 4)
    bytes_ = sent(orders, "--like", "old", lookup, "--body-file", "-", stdin=b"\xff")
    assert (bytes_.body, bytes_.label) == (b"\xff", "l")
    orders("message", "send", "orders", "--like", "old", "x", code=2)
    orders("message", "send", "orders", "--like", "old", "1", code=1)


def test_a_dead_letter_queue_can_be_named(orders: Cli) -> None:
    """DMPR-071."""
    with orders.open() as manager:
        manager.create_queue("dead")
    message = sent(orders, "--dead-letter-queue", "dead")
    assert message.dead_letter
    assert str(message.dead_letter_queue).endswith(r"private$\dead")


def test_a_body_comes_from_a_file_or_stdin_as_it_is(orders: Cli, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"\xff{n}\0")
    message = sent(orders, "--body-file", str(tmp_path / "body"))
    assert (message.body, message.body_type) == (b"\xff{n}\0", 0)
    assert sent(orders, "--body-file", "-", stdin=b"from\nstdin").body == b"from\nstdin"


@pytest.mark.parametrize("given", ["8", "0x8", "VT_BSTR", "bstr"])
def test_a_body_type_has_a_number_and_a_name(orders: Cli, given: str) -> None:
    message = sent(orders, "--body", "text", "--body-type", given)
    assert (message.body_type, message.text) == (8, "text")


def test_a_message_can_be_answered_by_its_id(orders: Cli) -> None:
    guid = UUID(int=7)
    message = sent(orders, "--correlation-id", rf"{guid}\513")
    assert message.correlation_id == guid.bytes_le + b"\1\2\0\0"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("none", Acknowledge.NONE),
        ("receive", Acknowledge.POS_RECEIVE),
        ("negative", Acknowledge.NEG_ARRIVAL | Acknowledge.NEG_RECEIVE),
        ("FULL_REACH_QUEUE", Acknowledge.FULL_REACH_QUEUE),
        ("full-receive, arrival", Acknowledge.FULL_RECEIVE | Acknowledge.POS_ARRIVAL),
        ("nack-reach-queue", Acknowledge.NEG_ARRIVAL),
        ("nack-receive", Acknowledge.NACK_RECEIVE),
    ],
)
def test_reports_are_asked_for_in_words(orders: Cli, words: str, flags: Acknowledge) -> None:
    assert sent(orders, "--acknowledge", words).acknowledge == flags


def test_numbers_run_in_label_and_body(orders: Cli) -> None:
    orders("message", "send", "orders", "--count", "3", "--label", "{n}/{n}", "--body", "no. {n}")
    orders("message", "send", "orders", "--start", "-5", "--label", "{n}", "--body", "same")
    with orders.open() as manager:
        found = manager.open_queue("orders").receive_many(9, timeout=0)
    assert [message.label for message in found] == ["0/0", "1/1", "2/2", "-5"]
    assert [message.text for message in found] == ["no. 0", "no. 1", "no. 2", "same"]


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
def test_the_ids_are_printed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, *, transactional: bool
) -> None:
    monkeypatch.setattr(message_send, "BATCH", 2)
    cli("queue", "create", "orders", *["--transactional"] * transactional)
    ids = cli.lines("message", "send", "orders", "--count", "5")
    ids += [sent["id"] for sent in cli.objects("message", "send", "orders")]
    with cli.open() as manager:
        found = manager.open_queue("orders").receive_many(9, timeout=0)
    assert [message.id for message in found] == ids
    assert {message.transactional for message in found} == {transactional}


def test_to_a_transactional_queue_all_go_or_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_send, "BATCH", 2)
    cli("queue", "create", "orders", "--transactional", "--quota", "4")
    result = cli("message", "send", "orders", "--count", "5", "--body", "x" * 500, code=1)
    assert "QueueQuotaExceeded (0xC00E0027)" in result.stderr
    assert result.stdout == ""
    assert cli.bodies("orders") == []


def test_a_transaction_does_not_fit_a_plain_queue(orders: Cli) -> None:
    result = orders("message", "send", "orders", "--transactional", code=1)
    assert "TransactionUsage (0xC00E0050)" in result.stderr


def test_express_messages_end_with_the_command_and_that_is_said(embedded: Cli) -> None:
    embedded("queue", "create", "orders")
    sent = embedded("message", "send", "orders", "--express")
    assert "gone when this command ends" in sent.stderr
    assert embedded.bodies("orders") == []


def test_express_messages_stay_in_a_service(served: Cli) -> None:
    served("queue", "create", "orders")
    assert served("message", "send", "orders", "--express", "--body", "1").stderr == ""
    assert len(served.bodies("orders")) == 1


@pytest.mark.parametrize("kind", ["--label=plain", "--transactional"])
def test_as_many_go_at_once_as_a_service_takes(cli: Cli, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"x" * 3_000_000)
    cli("queue", "create", "orders", kind)
    given = ("message", "send", "orders", "--body-file", str(file))
    assert len(cli.lines(*given, "--count", "4")) == 4
    assert cli.objects("queue", "show", "orders")[0]["messages"] == 4


def test_messages_in_a_transaction_are_never_express(cli: Cli) -> None:
    cli("queue", "create", "safe", "--transactional")
    assert cli("message", "send", "safe", "--express", "--body", "1").stderr == ""
    assert len(cli.bodies("safe")) == 1, "a transactional message is recoverable"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--body", "a", "--body-file", "-"), 2, "not both"),
        (("--count", "0"), 2, "--count"),
        (("--priority", "8"), 2, "--priority"),
        (("--acknowledge", "maybe"), 2, "maybe"),
        (("--correlation-id", "xyz"), 2, "xyz"),
        (("--correlation-id", r"x\1"), 2, "message"),
        (("--correlation-id", rf"{UUID(int=1)}\4294967296"), 2, "message"),
        (("--correlation-id", "00" * 21), 1, "correlation_id"),
        (("--body-type", "VT_MAGIC"), 2, "VT_MAGIC"),
        (("--time-to-be-received", "-1"), 2, "--time-to-be-received"),
        (("--app-specific", "-1"), 1, "app_specific"),
        (("--label", "x" * 250), 1, "LabelTooLong (0xC00E005D)"),
        (("--admin-queue", "a\\b\\c\\d"), 1, "admin_queue"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_what_cannot_be_is_refused(
    orders: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = orders("message", "send", "orders", *arguments, code=code)
    assert words in result.stderr
    assert orders.bodies("orders") == []


# Once, and later


def test_what_was_sent_under_an_id_is_not_sent_again(orders: Cli) -> None:
    command = ("message", "send", "orders", "--dedup-id", "order-17")
    [first], [again] = orders.objects(*command), orders.objects(*command)
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert first["id"] == again["id"]


def test_many_messages_have_an_id_each(orders: Cli) -> None:
    for count in ("2", "3"):
        orders(
            "message", "send", "orders", "--count", count, "--dedup-id", "o-{n}", "--body", "{n}"
        )
    with orders.open() as manager:
        found = manager.open_queue("orders").receive_many(9, timeout=0)
    assert [message.text for message in found] == ["0", "1", "2"]
    refused = orders("message", "send", "orders", "--count", "2", "--dedup-id", "o", code=2)
    assert "--dedup-id must contain {n}" in refused.stderr


@pytest.mark.parametrize(
    "when", [("--delay", "3600"), ("--deliver-at", "2090-01-31T08:00"), ("--delay", "3600.5")]
)
def test_a_message_can_be_delivered_later(orders: Cli, when: tuple[str, str]) -> None:
    orders("message", "send", "orders", *when)
    with orders.open() as manager:
        info = manager.open_queue("orders").info()
    assert (info.messages, info.delayed) == (0, 1)
    shown = orders("queue", "show", "orders").stdout
    assert "delayed         1 message" in shown


def test_in_a_transaction_too(cli: Cli) -> None:
    cli("queue", "create", "orders", "--transactional")
    for _ in range(2):
        cli("message", "send", "orders", "--dedup-id", "1", "--delay", "3600")
    with cli.open() as manager:
        assert manager.open_queue("orders").info().delayed == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--deliver-at", "tomorrow"), "2030-01-31T08:00"),
        (("--delay", "1", "--deliver-at", "2090-01-31"), "not both"),
    ],
)
def test_other_times_are_refused(orders: Cli, options: tuple[str, ...], words: str) -> None:
    assert words in orders("message", "send", "orders", *options, code=2).stderr
