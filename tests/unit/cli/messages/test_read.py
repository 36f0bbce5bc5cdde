"""`openmsmq message peek` and `receive`."""

from __future__ import annotations

import errno
from typing import NoReturn

import pytest
from tests.unit.cli.commands import Cli

from openmsmq import Message
from openmsmq.cli.messages import read as message_read


@pytest.fixture
def orders(cli: Cli) -> Cli:
    """A queue of three messages."""
    cli.fill("orders", *(Message(b"%d" % n, label=f"order {n}") for n in range(3)))
    return cli


@pytest.fixture
def bills(cli: Cli) -> Cli:
    """A transactional queue of three messages."""
    cli.fill("bills", b"0", b"1", b"2", transactional=True)
    return cli


def test_a_peek_takes_nothing(orders: Cli) -> None:
    for _ in range(2):
        [seen] = orders.objects("message", "peek", "orders")
        assert (seen["label"], seen["text"], seen["body"]) == ("order 0", "0", "MA==")
    assert len(orders.bodies("orders")) == 3


def test_a_receive_takes(orders: Cli) -> None:
    [taken] = orders.objects("message", "receive", "orders")
    assert taken["label"] == "order 0"
    assert orders.bodies("orders") == [b"1", b"2"]


@pytest.mark.parametrize("command", ["peek", "receive"])
def test_up_to_so_many_messages_come(
    orders: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(message_read, "BATCH", 2)
    found = orders.objects("message", command, "orders", "--count", "99", "--timeout", "0.01")
    assert [message["text"] for message in found] == ["0", "1", "2"]
    assert orders.bodies("orders") == ([b"0", b"1", b"2"] if command == "peek" else [])


@pytest.mark.parametrize("command", ["peek", "receive"])
def test_fewer_may_be_asked_for(orders: Cli, command: str) -> None:
    assert len(orders.objects("message", command, "orders", "--count", "2")) == 2


@pytest.mark.parametrize("command", ["peek", "receive"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), r".\private$\orders is empty"),
        (("--timeout", "0.01"), r"no message arrived in .\private$\orders within 0.01 s"),
        (("--json",), r".\private$\orders is empty"),
    ],
)
def test_nothing_in_time_has_its_exit_code(
    cli: Cli, command: str, arguments: tuple[str, ...], words: str
) -> None:
    cli("queue", "create", "orders")
    result = cli("message", command, "orders", *arguments, code=3)
    assert result.stderr == f"openmsmq: {words}\n"
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["peek", "receive"])
def test_a_message_is_found_by_its_place(orders: Cli, command: str) -> None:
    second = orders.objects("message", "peek", "orders", "--count", "2")[1]
    place = ("--lookup-id", str(second["lookup_id"]))
    assert orders.objects("message", command, "orders", *place) == [second]
    result = orders("message", command, "orders", "--lookup-id", "5", code=1)
    assert "MessageNotFound (0xC00E0088)" in result.stderr


def test_messages_are_shown_to_people(orders: Cli) -> None:
    output = orders("message", "receive", "orders", "--count", "2").stdout
    first, second = output.split("\n\n")
    assert "order 0" in first
    assert "order 1" in second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--count", "0"), "--count"), (("--timeout", "-1"), "--timeout")],
)
def test_wrong_usage_is_refused(orders: Cli, arguments: tuple[str, ...], words: str) -> None:
    assert words in orders("message", "receive", "orders", *arguments, code=2).stderr


def test_a_transaction_takes_all_or_nothing(bills: Cli) -> None:
    found = bills.objects("message", "receive", "bills", "--transaction", "--count", "2")
    assert [message["text"] for message in found] == ["0", "1"]
    assert bills.bodies("bills") == [b"2"]
    last = bills.objects("message", "peek", "bills")[0]["lookup_id"]
    bills("message", "receive", "bills", "--transaction", "--lookup-id", str(last))
    bills("message", "receive", "bills", "--transaction", code=3)


def test_what_cannot_be_printed_stays_in_the_queue(
    bills: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []

    def full(document: object) -> None:
        printed.append(document)
        if len(printed) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(message_read, "print_json", full)
    bills("message", "receive", "bills", "--transaction", "--count", "9", "--json", code=1)
    assert bills.bodies("bills") == [b"0", b"1", b"2"]


def test_what_cannot_be_flushed_stays_in_the_queue(
    bills: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("click.testing._NamedTextIOWrapper.flush", fail)
    result = bills("message", "receive", "bills", "--transaction", "--json", code=1)
    assert result.stderr == ""
    monkeypatch.undo()
    assert len(bills.bodies("bills")) == 3


def test_a_plain_queue_knows_no_transaction(orders: Cli) -> None:
    result = orders("message", "receive", "orders", "--transaction", code=1)
    assert "TransactionUsage (0xC00E0050)" in result.stderr
    assert len(orders.bodies("orders")) == 3
