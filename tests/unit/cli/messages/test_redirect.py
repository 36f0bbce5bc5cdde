"""`openmsmq message return`, `redirect`, `delete` and `find`."""

from __future__ import annotations

import time

import pytest
from tests.unit.cli.commands import Cli


@pytest.fixture
def orders(cli: Cli) -> Cli:
    """A queue of five messages."""
    cli.fill("orders")
    for number in range(5):
        cli.lines("message", "send", "orders", "--body", str(number), "--label", f"order {number}")
    return cli


def test_messages_go_to_another_queue(orders: Cli) -> None:
    orders.fill("target")
    done = orders.lines("message", "redirect", "orders", "--filter", "label:*3", "--to", "target")
    assert done == ["moved 1 message", "  1 to target"]
    [copied] = orders.objects("message", "redirect", "orders", "--all", "--to", "target", "--copy")
    assert copied["copied"] == 4
    assert len(orders.bodies("target")) == 5
    assert len(orders.bodies("orders")) == 4


def test_messages_are_deleted_by_a_filter(orders: Cli) -> None:
    deleted = orders.lines("message", "delete", "orders", "--filter", "label:*1 OR label:*2")
    assert deleted == ["deleted 2 messages"]
    assert len(orders.bodies("orders")) == 3


def test_messages_are_found_in_all_queues(orders: Cli) -> None:
    found = orders.objects("message", "find", "label:order* -label:*4", "--count", "3")
    assert [one["label"] for one in found] == ["order 0", "order 1", "order 2"]
    assert found[0]["queue"] == r".\private$\orders"
    assert "order 4" in orders("message", "find", "4", "--queue", "orders").output
    orders("message", "find", "nothing at all", code=3)


def test_the_newest_come_first(orders: Cli) -> None:
    found = orders.objects("message", "peek", "orders", "--newest", "--count", "2")
    assert [one["label"] for one in found] == ["order 4", "order 3"]
    found = orders.objects("message", "peek", "orders", "--filter", "label:*2", "--count", "9")
    assert [one["label"] for one in found] == ["order 2"]


def test_dead_letters_return_to_their_queue(cli: Cli) -> None:
    cli.fill("orders")
    for number in range(3):
        cli.lines(
            *("message", "send", "orders", "--body", str(number), "--dead-letter"),
            *("--time-to-be-received", "0"),
        )
    while len(cli.bodies(".\\DeadLetter$")) < 3:
        time.sleep(0.2)
    [done] = cli.objects("message", "return", ".\\DeadLetter$", "--all")
    assert done["returned"] == 3
    assert [body.decode("utf-16-le") for body in cli.bodies("orders")] == ["0", "1", "2"]
    assert cli.bodies(".\\DeadLetter$") == []


def test_it_must_be_clear_which_messages_are_meant(orders: Cli) -> None:
    orders("message", "delete", "orders", code=2)
    orders("message", "delete", "orders", "--all", "--filter", "x", code=2)
    orders("message", "delete", "orders", "--filter", "nofield:x", code=1)
    wrong = ("--all", "--to", "orders", "--lifetime", "long")
    orders("message", "redirect", "orders", *wrong, code=2)
