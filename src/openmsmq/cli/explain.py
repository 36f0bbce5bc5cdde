"""`openmsmq explain`: the life of a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import click

from openmsmq import Manager
from openmsmq.cli.messages.read import walk_on
from openmsmq.cli.options import (
    ManagerLocation,
    NothingCame,
    Refusal,
    WrongUsage,
    known_places,
    manager_options,
    say,
)
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.errors import AccessDenied, MQError, QueueNotFound
from openmsmq.types.history import HistoryEvent
from openmsmq.types.queues import SEARCHED
from openmsmq.types.received import ReceivedMessage


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
@click.argument("message_id", type=MessageId(), required=False)
@click.option("--label", metavar="PATTERN", help="Messages with this label; * and ? are wild.")
@click.option(
    "--since", metavar="TIME", help="Only those sent since: -2h ago, or 2026-07-01T10:00."
)
@click.option("--count", type=click.IntRange(1), default=10, help="At most this many messages.")
@click.option(
    "--everywhere", is_flag=True, help="Ask all managers that openmsmq context list shows."
)
@manager_options
def explain(
    message_id: str | None,
    *,
    label: str | None,
    since: str | None,
    count: int,
    everywhere: bool,
    location: ManagerLocation,
    as_json: bool,
) -> None:
    """Show the history of a message: what happened to it, when, where and why.

    MESSAGE_ID is what message send printed. Quote it, since shells take the backslash away. With
    --label, messages are looked for in all queues, journals and dead-letter queues; those that were
    received and are in no journal are known by their id only. Exits with 1 if nothing is known
    about the message, with 3 if no message has the label.

    \b
    Examples:
      openmsmq explain '6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b\\7'
      openmsmq explain --label 'order 4711*' --since -1d --everywhere
      openmsmq explain --json "$ID" | jq -r .event
    """
    if (message_id is None) == (label is None):
        raise WrongUsage("the id of a message, or --label: one of them is needed")
    with ExitStack() as stack:
        managers = _open(known_places() if everywhere else {"": location}, stack)
        if message_id is not None:
            found = {message_id: ""}
        else:
            found = _labelled(managers, str(label), since, count)
            if not found:
                raise NothingCame(f"no message that is kept has the label {label!r}")
        stories = {one: _story(managers, one) for one in found}
        if message_id is not None and not stories[message_id]:
            raise Refusal(_nothing_known(next(iter(managers.values())), message_id))
    for one, events in stories.items():
        if not as_json and message_id is None:
            click.echo(f"{one}  {found[one]}")
        _print(one, events, as_json=as_json, everywhere=everywhere)


def _open(places: Mapping[str, ManagerLocation], stack: ExitStack) -> dict[str, Manager]:
    """The managers that can be reached; the others are named."""
    managers: dict[str, Manager] = {}
    for name, place in places.items():
        try:
            managers[name] = stack.enter_context(place.open())
        except (MQError, OSError) as error:
            if len(places) == 1:
                raise
            say(f"{name} cannot be asked, so that something may be missing: {error}")
    if not managers:
        raise Refusal("no manager can be asked; openmsmq context list shows those that are known")
    return managers


def _labelled(
    managers: Mapping[str, Manager], label: str, since: str | None, count: int
) -> dict[str, str]:
    """The ids of messages with a label, and their labels."""
    from openmsmq.console.filters import parse_filter

    quoted = label.replace("\\", "\\\\").replace('"', '\\"')
    text = f'label:"{quoted}"' + (f" sent:>={since}" if since else "")
    matches = parse_filter(text).matches
    found: dict[str, str] = {}
    for manager in managers.values():
        for message in _kept(manager):
            if matches(message):
                found[message.id] = message.label
                if len(found) == count:
                    return found
    return found


def _kept(manager: Manager) -> Iterator[ReceivedMessage]:
    for info in manager.queues(everything=True):
        if info.messages and info.kind in SEARCHED:
            try:
                with manager.open_queue(info.name) as queue:
                    yield from walk_on(queue)
            except (AccessDenied, QueueNotFound):
                continue  # not for this login, or gone meanwhile


def _story(managers: Mapping[str, Manager], message_id: str) -> list[tuple[str, HistoryEvent]]:
    events = [
        (name, one) for name, manager in managers.items() for one in manager.explain(message_id)
    ]
    return sorted(events, key=lambda item: item[1].time)


def _print(
    message_id: str, events: list[tuple[str, HistoryEvent]], *, as_json: bool, everywhere: bool
) -> None:
    if as_json:
        for name, event in events:
            more = {"manager": name} if everywhere else {}
            print_json({**_event_json(event), "id": message_id, **more})
        return
    columns = ("TIME", "EVENT", "QUEUE", "WHAT HAPPENED")
    rows = [(name, *_row(event)) for name, event in events]
    if everywhere:
        print_table(("MANAGER", *columns), rows)
    else:
        print_table(columns, (row[1:] for row in rows))


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
