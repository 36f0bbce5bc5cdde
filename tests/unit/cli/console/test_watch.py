"""`openmsmq watch`."""

from __future__ import annotations

from tests.unit.cli.commands import Cli


def test_queues_are_shown_with_their_change(cli: Cli) -> None:
    cli.fill("orders", b"a", b"b")
    cli.fill("jobs", b"a")
    looks = cli.objects("watch", "order", "--count", "2", "--interval", "0.1")
    assert [(one["messages"], one["change"]) for one in looks] == [(2, None), (2, 0.0)]
    shown = cli("watch", "--count", "1")
    assert "jobs" in shown.output
