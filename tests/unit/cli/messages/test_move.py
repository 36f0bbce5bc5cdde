"""`openmsmq message move`."""

from __future__ import annotations

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.cli.messages import move as message_move


@pytest.fixture(params=[False, True], ids=["plain", "transactional"])
def orders(cli: Cli, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A queue of five messages."""
    monkeypatch.setattr(message_move, "BATCH", 2)
    cli.fill("orders", *(b"%d" % n for n in range(5)), transactional=request.param)
    return cli


def test_a_message_moves_to_a_subqueue_and_back(orders: Cli) -> None:
    second = orders.objects("message", "peek", "orders", "--count", "2")[1]
    place = ("--lookup-id", str(second["lookup_id"]))
    assert orders.lines("message", "move", "orders", *place, "--to", "retry") == ["moved 1 message"]
    assert orders.bodies("orders") == [b"0", b"2", b"3", b"4"]
    [moved] = orders.objects("message", "peek", "orders;retry")
    assert moved["id"] == second["id"]
    assert moved["lookup_id"] == second["lookup_id"]
    assert moved["move_count"] == 1
    assert orders.objects("message", "move", "orders;retry", *place, "--to", "") == [
        {"name": r".\private$\orders;retry", "to": "", "moved": 1}
    ]
    assert orders.bodies("orders") == [b"%d" % n for n in range(5)]


def test_all_messages_move(orders: Cli) -> None:
    assert orders.lines("message", "move", "orders", "--all", "--to", "r") == ["moved 5 messages"]
    assert orders.bodies("orders") == []
    assert orders.bodies("orders;r") == [b"%d" % n for n in range(5)]
    assert orders.lines("message", "move", "orders", "--all", "--to", "r") == ["moved 0 messages"]


@pytest.mark.parametrize(
    "arguments",
    [("--to", "r"), ("--all", "--lookup-id", "5", "--to", "r"), ("--all",)],
    ids=" ".join,
)
def test_wrong_usage_is_refused(orders: Cli, arguments: tuple[str, ...]) -> None:
    orders("message", "move", "orders", *arguments, code=2)


def test_a_message_that_is_not_there_is_refused(orders: Cli) -> None:
    result = orders("message", "move", "orders", "--lookup-id", "5", "--to", "r", code=1)
    assert "MessageNotFound (0xC00E0088)" in result.stderr
