"""`openmsmq explain`: the life of a message."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import click

from openmsmq import Manager
from openmsmq.cli.options import ManagerLocation, Refusal, manager_options
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.types.history import HistoryEvent


class MessageId(click.ParamType[str]):
    r"""`guid\number`, as `message send` prints it."""

    name = "message_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The id, as the manager writes it."""
        guid, _, number = str(value).strip().partition("\\")
        try:
            return f"{UUID(guid)}\\{int(number)}"
        except ValueError:
            self.fail(rf"{value!r} is not a message's id, guid\number; quote it for the shell.")


@click.command()
@click.argument("message_id", type=MessageId())
@manager_options
def explain(message_id: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Show the history of a message: what happened to it, when, where and why.

    MESSAGE_ID is what message send printed. Quote it, since shells take the backslash away. Exits
    with 1 if nothing is known about the message.

    \b
    Examples:
      openmsmq explain '6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b\\7'
      openmsmq explain --json "$ID" | jq -r .event
    """
    with location.open() as manager:
        events = manager.explain(message_id)
        if not events:
            raise Refusal(_nothing_known(manager, message_id))
    if as_json:
        for event in events:
            print_json(_event_json(event))
        return
    columns = ("TIME", "EVENT", "QUEUE", "WHAT HAPPENED")
    print_table(columns, (_row(event) for event in events))


def _row(event: HistoryEvent) -> tuple[str, ...]:
    by = f" (by {event.by})" if event.by else ""
    return (time_text(event.time), event.event, event.queue, event.text + by)


def _event_json(event: HistoryEvent) -> dict[str, Any]:
    return {
        "time": time_json(event.time),
        "event": event.event,
        "queue": event.queue,
        "text": event.text,
        "lookup_id": event.lookup_id,
        "by": event.by,
    }


def _nothing_known(manager: Manager, message_id: str) -> str:
    """Why there may be nothing to tell."""
    start = f"nothing is known about {message_id}"
    history = manager.settings().history
    if not history:
        return f"{start}: the history is switched off (history = 0 in the settings; see apply)"
    if message_id.partition("\\")[0] != manager.id:
        return f"{start}: another queue manager sent it, and it never arrived here"
    return (
        f"{start}: it was never sent (a transaction that was aborted sends nothing), or the history"
        f" of the last {history} MiB does not go back so far"
    )
