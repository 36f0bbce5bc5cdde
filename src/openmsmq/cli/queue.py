"""`openmsmq queue`: the queues of a manager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, Final
from uuid import UUID

import click

from openmsmq.cli.later import Later, LaterGroup
from openmsmq.cli.options import (
    ManagerLocation,
    confirm,
    manager_options,
    queue_argument,
    yes_option,
)
from openmsmq.cli.output import (
    age_text,
    count_text,
    is_like,
    print_json,
    print_properties,
    print_table,
    quota_text,
    size_text,
    time_json,
    time_text,
)
from openmsmq.errors import QueueExists
from openmsmq.limits import NO_QUOTA
from openmsmq.types.history import QueueEvent
from openmsmq.types.queues import PRIVACY, Poison, QueueInfo

_TIMES: Final = ("created", "modified")
_MADE: Final = ("private", "public")
"The kinds of queue that people make."


class Quota(click.ParamType[int]):
    """KiB, or `none`."""

    name = "kib|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of KiB, as a queue keeps it."""
        if isinstance(value, str) and value.lower() == "none":
            return NO_QUOTA
        return click.IntRange(0, NO_QUOTA).convert(value, param, ctx)


def _properties(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a queue that can be changed later."""
    options = (
        click.option(
            "--journal/--no-journal", default=None, help="Keep a copy of what is received."
        ),
        click.option("--quota", type=Quota(), help="KiB that its messages may take."),
        click.option("--journal-quota", type=Quota(), help="KiB that its journal may take."),
        click.option("--label", help="A description, at most 124 characters."),
        click.option(
            "--authenticate/--no-authenticate",
            default=None,
            help="Take signed messages from other queue managers only.",
        ),
        click.option(
            "--privacy",
            type=click.Choice(PRIVACY),
            help="Take clear messages, both, or encrypted ones only, from other queue managers.",
        ),
        click.option("--base-priority", type=int, help="Its weight among queues on the way here."),
        click.option("--type", type=click.UUID, help="A GUID that says what kind of queue it is."),
        click.option(
            "--abort-limit",
            type=click.IntRange(0),
            help="Aborts after which a message is poison; 0 for no limit.",
        ),
        click.option(
            "--retry-delay",
            type=click.IntRange(0),
            help="Seconds for which a message is invisible after an abort.",
        ),
        click.option(
            "--poison",
            type=click.Choice(tuple(map(str, Poison))),
            help="Where poison goes: to the subqueue poison, or the dead-letter queue.",
        ),
        click.option(
            "--multicast",
            metavar="ADDRESS:PORT",
            help="Get what is sent to this group address; an empty text for nothing.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _given(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties that were given, as the API takes them."""
    given = {name: value for name, value in properties.items() if value is not None}
    if "privacy" in given:
        given["privacy"] = PRIVACY.index(given["privacy"])
    return given


@click.group(cls=LaterGroup)
def queue() -> None:
    """Create, delete, list and change queues.

    NAME is a path name, a format name, or bare: orders means .\\private$\\orders. Journals, dead
    letters and subqueues have names, too; quote them for the shell.

    \b
    Examples:
      openmsmq queue create orders --transactional
      openmsmq queue show '.\\private$\\orders\\Journal$'
      openmsmq queue list --all '*Journal$'
    """


queue.add_command(
    Later(
        "permissions",
        "security.permissions:permissions",
        "Show, change and check who may do what with a queue.",
    )
)


@queue.command()
@queue_argument
@click.option("--transactional", is_flag=True, help="Take messages in transactions only.")
@click.option("--if-missing", is_flag=True, help="Do nothing if the queue exists.")
@_properties
@manager_options
def create(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    transactional: bool,
    if_missing: bool,
    **properties: Any,
) -> None:
    """Create a queue, and the store if there is none yet.

    Whether a queue is transactional cannot be changed later; the rest can, with queue set. With
    --if-missing a queue that exists stays as it is, so that the command can be repeated.

    \b
    Examples:
      openmsmq queue create orders --data data --transactional
      openmsmq queue create invoices --journal --quota 10240 --label "sent invoices"
      openmsmq queue create orders --transactional --if-missing
    """
    given = {"transactional": transactional, **_given(properties)}
    with location.open(create=True) as manager:
        try:
            made, word = manager.create_queue(name, **given), "created"
        except QueueExists:
            if not if_missing:
                raise
            made, word = manager.open_queue(name), "exists:"
        info = made.info()
        if info.transactional is not transactional:
            kind = "transactional" if info.transactional else "not transactional"
            raise QueueExists(f"{info.name} is {kind}, which cannot be changed")
        _answer(info, word, as_json=as_json)


@queue.command()
@queue_argument
@yes_option
@manager_options
def delete(name: str, *, location: ManagerLocation, as_json: bool, yes: bool) -> None:
    """Delete a queue with all its messages.

    If there are messages it asks first; off a terminal it needs --yes then, and exits with 2.

    \b
    Examples:
      openmsmq queue delete orders
      openmsmq queue delete orders --yes
    """
    with location.open() as manager:
        with manager.open_queue(name) as found:
            info = found.info()
        held = info.messages + (info.delayed or 0)
        if held:
            confirm(f"{info.name} holds {count_text(held)}. Delete them, too?", yes=yes)
        manager.delete_queue(name)
    _answer(info, "deleted", as_json=as_json)


@queue.command(name="list")
@click.argument("pattern", required=False)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Subqueues, journals, system and outgoing queues, too.",
)
@manager_options
def list_(
    pattern: str | None, *, location: ManagerLocation, as_json: bool, everything: bool
) -> None:
    """List the queues, all or those whose names match PATTERN.

    * and ? stand for any characters; the pattern is held against the whole name and against its
    last part, whatever the case.

    \b
    Examples:
      openmsmq queue list
      openmsmq queue list 'ord*' --json | jq .messages
      openmsmq queue list --all
    """
    with location.open() as manager:
        found = manager.queues(everything=everything)
    chosen = [info for info in found if pattern is None or is_like(info.name, pattern)]
    if as_json:
        for info in chosen:
            print_json(queue_json(info))
        return
    columns = ("NAME", ">MESSAGES", ">SIZE", ">OLDEST", ">QUOTA", "KIND", "LABEL")
    print_table(columns, (_row(info) for info in chosen))


@queue.command()
@queue_argument
@manager_options
def show(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Show the properties of a queue and its message counts.

    \b
    Examples:
      openmsmq queue show orders
      openmsmq queue show orders --json | jq .messages
    """
    with location.open() as manager, manager.open_queue(name) as found:
        info = found.info()
    if as_json:
        print_json(queue_json(info))
    else:
        print_properties(_shown(info))


@queue.command()
@queue_argument
@click.option("--count", type=click.IntRange(1), default=20, help="At most this many events.")
@click.option("--event", metavar="WORD", help="Only these: received, arrived, expired, ...")
@manager_options
def history(
    name: str, *, location: ManagerLocation, as_json: bool, count: int, event: str | None
) -> None:
    """Show what happened in a queue, the newest first, and who did it.

    MESSAGES are those that it happened to at once. How far back this goes is a setting of the
    manager: history, in MiB of what happened to all messages.

    \b
    Examples:
      openmsmq queue history orders
      openmsmq queue history orders --event received --count 5
    """
    found: list[QueueEvent] = []
    with location.open() as manager:
        page = manager.queue_history(name)
        while True:
            found += [one for one in page.events if event in (None, one.event)]
            if not page.next or len(found) >= count:
                break
            page = manager.queue_history(name, before=page.next)
    del found[count:]
    if as_json:
        for one in found:
            print_json({**asdict(one), "time": time_json(one.time)})
    else:
        columns = ("TIME", "EVENT", ">MESSAGES", "WHAT HAPPENED", "BY")
        rows = ((time_text(e.time), e.event, e.count, e.text, e.by) for e in found)
        print_table(columns, rows)


@queue.command(name="set")
@queue_argument
@_properties
@manager_options
def set_(name: str, *, location: ManagerLocation, as_json: bool, **properties: Any) -> None:
    """Change properties of a queue; those not given stay.

    \b
    Examples:
      openmsmq queue set orders --journal --journal-quota 10240
      openmsmq queue set orders --quota none --label ""
      openmsmq queue set orders --abort-limit 5 --retry-delay 30
    """
    changes = _given(properties)
    if not changes:
        raise click.UsageError("Nothing to change: give at least one property.")
    with location.open() as manager, manager.open_queue(name) as found:
        found.info()  # who may not see what comes of it changes nothing
        found.set(**changes)
        _answer(found.info(), "changed", as_json=as_json)


@queue.command()
@queue_argument
@yes_option
@manager_options
def purge(name: str, *, location: ManagerLocation, as_json: bool, yes: bool) -> None:
    """Remove all messages of a queue.

    If there are messages it asks first; off a terminal it needs --yes then, and exits with 2.

    \b
    Examples:
      openmsmq queue purge orders
      openmsmq queue purge '.\\DeadLetter$' --yes
    """
    with location.open() as manager, manager.open_queue(name) as found:
        info = found.info()
        held = info.messages + (info.delayed or 0)
        if held:
            confirm(f"Remove {count_text(held)} of {info.name}?", yes=yes)
        removed = found.purge()
    if as_json:
        print_json({"name": info.name, "purged": removed})
    else:
        click.echo(f"removed {count_text(removed)} of {info.name}")


def queue_json(info: QueueInfo) -> dict[str, Any]:
    """A queue as a JSON object."""
    found = {field.name: getattr(info, field.name) for field in fields(info)}
    for name, value in found.items():
        if name in _TIMES:
            found[name] = time_json(value)
        elif isinstance(value, UUID):
            found[name] = str(value)
    return found


def _answer(info: QueueInfo, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json(queue_json(info))
    else:
        click.echo(f"{done} {info.name}")


def _row(info: QueueInfo) -> tuple[object, ...]:
    quota = "" if info.quota is None else _used(info.bytes, info.quota)
    return (
        info.name,
        f"{info.messages:,}",
        size_text(info.bytes),
        age_text(info.oldest_age),
        quota,
        _kind(info),
        info.label,
    )


def _kind(info: QueueInfo) -> str:
    return f"{info.kind}, transactional" if info.transactional else info.kind


def _used(size: int, quota: int) -> str:
    return f"{size / (quota * 1024):.0%} of {quota_text(quota)}" if quota else quota_text(quota)


def _shown(info: QueueInfo) -> list[tuple[str, object]]:
    shown = [
        ("name", info.name),
        ("id", info.id),
        ("format name", info.format_name),
        ("kind", _kind(info)),
        ("state", info.state),
        ("label", info.label),
        ("messages", f"{count_text(info.messages)}, {size_text(info.bytes)}"),
        ("delayed", _delayed(info)),
        ("oldest", age_text(info.oldest_age)),
        ("since made", _totals(info)),
        ("quota", quota_text(info.quota)),
        *_journal(info),
        ("poison", _poison(info)),
        ("authenticate", "signed messages only" if info.authenticate else "no"),
        ("privacy", PRIVACY[info.privacy]),
        ("permissions", "restricted" if info.restricted else "open"),
        ("multicast", info.multicast),
        ("base priority", info.base_priority),
        ("type", info.type if info.type.int else ""),
        ("created", time_text(info.created)),
        ("modified", time_text(info.modified)),
    ]
    return [(name, value) for name, value in shown if value != ""]


def _totals(info: QueueInfo) -> str:
    """What happened to its messages so far."""
    counted = {
        "arrived": info.arrived,
        "received": info.received,
        "expired": info.expired,
        "rejected": info.rejected,
        "moved": info.moved,
        "aborted": info.aborted,
    }
    return ", ".join(f"{count:,} {word}" for word, count in counted.items() if count)


def _delayed(info: QueueInfo) -> str:
    if not info.delayed:
        return ""
    return f"{count_text(info.delayed)}, {size_text(info.delayed_bytes)}"


def _poison(info: QueueInfo) -> str:
    """What becomes of messages that are aborted, if not what always does."""
    words = []
    if info.retry_delay:
        words.append(f"aborted messages rest for {info.retry_delay} s")
    if info.abort_limit:
        place = ";poison" if info.poison == Poison.SUBQUEUE else "the dead-letter queue"
        words.append(f"after {count_text(info.abort_limit, 'abort')} to {place}")
    return ", ".join(words)


def _journal(info: QueueInfo) -> list[tuple[str, object]]:
    """What there is to say of the journal, which only queues have that people made."""
    if info.kind not in _MADE:
        return []
    held = f"{count_text(info.journal_messages)}, {size_text(info.journal_bytes)}"
    return [
        ("journal", "on" if info.journal else "off"),
        ("in the journal", held),
        ("journal quota", quota_text(info.journal_quota)),
    ]
