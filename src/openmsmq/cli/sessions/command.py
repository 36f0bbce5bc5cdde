"""`openmsmq session`, `openmsmq recording` and `openmsmq configuration`: a service that runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from openmsmq.capture.limits import RECORDING_S_MAX
from openmsmq.cli.options import ManagerLocation, Refusal, manager_options
from openmsmq.cli.output import (
    age_text,
    print_json,
    print_properties,
    print_table,
    size_text,
    time_json,
    time_text,
)
from openmsmq.types.peers import DependentInfo, RecordingInfo, SessionInfo, SessionPacket
from openmsmq.types.settings import ConfigurationEntry

_VALUE_SHOWN: Final = 60


@click.group()
def session() -> None:
    """List and end connections of other queue managers, programs and dependent clients.

    \b
    Examples:
      openmsmq session list
      openmsmq session show m7
      openmsmq session dependents
      openmsmq session end m7
    """


@session.command(name="list")
@manager_options
def list_sessions(*, location: ManagerLocation, as_json: bool) -> None:
    """List connections of managers (m), programs (p) and dependent clients (d).

    Those that this manager has made to other managers are "dialled".

    \b
    Examples:
      openmsmq session list
      openmsmq session list --json | jq 'select(.kind == "manager")'
    """
    with location.open() as manager:
        found = manager.control.sessions()
    if as_json:
        for one in found:
            print_json(asdict(one))
        return
    columns = ("ID", "KIND", "PEER", "NAME", "WHO", ">AGE", ">RECEIVED", ">SENT", "NOTES")
    print_table(columns, map(_session_row, found))


@session.command()
@click.argument("identifier", metavar="ID")
@manager_options
def show(identifier: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Show one: the window and the last packets of a manager, or the open queues of a program.

    Of packets it shows what they are and how long, the newest first, and nothing of what is in
    them: openmsmq recording has that.

    \b
    Examples:
      openmsmq session show m7
      openmsmq session show p12 --json | jq .queues
    """
    with location.open() as manager:
        found = manager.control.session(identifier)
    if as_json:
        print_json(asdict(found))
        return
    one = found.session
    facts = {
        "id": one.id,
        "peer": one.peer,
        "who": " ".join(filter(None, (one.who, one.name))),
        "state": found.state,
        "age": age_text(one.age),
        "received": size_text(one.received),
        "sent": size_text(one.sent),
        "window": found.window,
        "window of ours": found.own_window,
        "room": found.room,
        "not acknowledged": found.unacknowledged,
        "to acknowledge": found.to_acknowledge,
        "given up after": None if found.ack_wait is None else f"{found.ack_wait} s",
        "open queues": "\n".join(found.queues) or None,
    }
    print_properties((name, value) for name, value in facts.items() if value is not None)
    if found.packets:
        columns = ("TIME", "WAY", "PACKET", ">SIZE")
        print_table(columns, map(_packet_row, found.packets))


def _packet_row(packet: SessionPacket) -> tuple[str, ...]:
    way = "sent" if packet.is_sent else "received"
    return time_text(packet.millis / 1000), way, packet.kind, size_text(packet.size)


@session.command()
@manager_options
def dependents(*, location: ManagerLocation, as_json: bool) -> None:
    """List dependent clients (serve --supporting-server), a line for each queue they have open.

    WAITING are receives and peeks that wait for a message, LONGEST is how long the oldest does.

    \b
    Examples:
      openmsmq session dependents
      openmsmq session dependents --json | jq '.queues[] | select(.waiting > 0)'
    """
    with location.open() as manager:
        found = manager.control.dependents()
    if as_json:
        for one in found:
            print_json(asdict(one))
        return
    columns = ("ID", "PEER", "WHO", ">AGE", ">UNITS", "QUEUE", "ACCESS", ">WAITING", ">LONGEST")
    print_table(columns, (row for one in found for row in _dependent_rows(one)))


@session.command()
@click.argument("identifier", metavar="ID")
@manager_options
def end(identifier: str, *, location: ManagerLocation, as_json: bool) -> None:
    """End a connection; who was connected may connect again.

    Messages that another manager has not confirmed are sent to it again.

    \b
    Example:
      openmsmq session end m7
    """
    with location.open() as manager:
        manager.control.end_session(identifier)
    _done(f"ended {identifier}", as_json=as_json, session=identifier)


@click.group()
def recording() -> None:
    """Record what a service and other queue managers say to each other, for some time.

    Files are for openmsmq decode and for Wireshark. They hold messages: only administrators may
    fetch them. The last ten recordings are kept.

    \b
    Examples:
      openmsmq recording start --seconds 60 --peer 10.0.0.7
      openmsmq recording fetch 20260701T100000Z-1 --to traces
      openmsmq decode traces/*.pcap
    """


@recording.command()
@click.option(
    "--seconds",
    type=click.IntRange(1, RECORDING_S_MAX),
    default=60,
    show_default=True,
    help="How long.",
)
@click.option("--peer", default="", metavar="ADDRESS", help="Only sessions with this IP address.")
@manager_options
def start(*, seconds: int, peer: str, location: ManagerLocation, as_json: bool) -> None:
    """Begin a recording of sessions that are open, and of those to come. One runs at a time.

    \b
    Examples:
      openmsmq recording start
      openmsmq recording start --seconds 600 --peer 10.0.0.7
    """
    with location.open() as manager:
        begun = manager.control.start_recording(seconds, peer=peer)
    if as_json:
        print_json(_recording(begun))
    else:
        click.echo(begun.id)


@recording.command()
@click.argument("identifier", metavar="ID")
@manager_options
def stop(identifier: str, *, location: ManagerLocation, as_json: bool) -> None:
    """End a recording before its time.

    \b
    Example:
      openmsmq recording stop 20260701T100000Z-1
    """
    with location.open() as manager:
        ended = manager.control.stop_recording(identifier)
    if as_json:
        print_json(_recording(ended))
    else:
        click.echo(f"stopped {ended.id}: {len(ended.files)} files")


@recording.command(name="list")
@manager_options
def list_recordings(*, location: ManagerLocation, as_json: bool) -> None:
    """List recordings, the oldest first.

    \b
    Example:
      openmsmq recording list
    """
    with location.open() as manager:
        found = manager.control.recordings()
    if as_json:
        for one in found:
            print_json(_recording(one))
        return
    columns = ("ID", "STATE", "PEER", "BEGAN", "UNTIL", ">FILES", ">SIZE", "BY")
    print_table(columns, map(_recording_row, found))


@recording.command()
@click.argument("identifier", metavar="ID")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder for the files.  [default: this one]",
)
@manager_options
def fetch(identifier: str, *, folder: Path, location: ManagerLocation, as_json: bool) -> None:
    """Copy the files of a recording here.

    \b
    Example:
      openmsmq recording fetch 20260701T100000Z-1 --to traces
    """
    with location.open() as manager:
        known = {one.id: one for one in manager.control.recordings()}
        if identifier not in known:
            raise Refusal(f"there is no recording {identifier}; see openmsmq recording list")
        folder.mkdir(parents=True, exist_ok=True)
        for file in known[identifier].files:
            path = folder / Path(file.name).name
            path.touch(mode=0o600)
            with path.open("wb") as target:
                for part in manager.control.read_recording(identifier, file.name):
                    target.write(part)
            _done(str(path), as_json=as_json, file=str(path), size=path.stat().st_size)


@recording.command()
@click.argument("identifier", metavar="ID")
@manager_options
def remove(identifier: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Remove a recording that is over, with its files.

    \b
    Example:
      openmsmq recording remove 20260701T100000Z-1
    """
    with location.open() as manager:
        manager.control.remove_recording(identifier)
    _done(f"removed {identifier}", as_json=as_json, recording=identifier)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what is as it would be anyway.")
@manager_options
def configuration(*, everything: bool, location: ManagerLocation, as_json: bool) -> None:
    """Show how a service is configured, and what its file would change.

    RUNNING is what counts now. What FILE says instead counts after a restart, or after a reload
    (SIGHUP), as NOTES say.

    \b
    Examples:
      openmsmq configuration
      openmsmq configuration --all --json | jq 'select(.needs_restart)'
    """
    with location.open() as manager:
        found = manager.control.configuration()
    chosen = [one for one in found if everything or not one.is_default or one.running != one.file]
    if as_json:
        for one in chosen:
            print_json(asdict(one))
        return
    print_table(("OPTION", "RUNNING", "FILE", "NOTES"), map(_option_row, chosen))


def _done(words: str, *, as_json: bool, **members: Any) -> None:
    if as_json:
        print_json(members)
    else:
        click.echo(words)


def _session_row(one: SessionInfo) -> tuple[str, ...]:
    notes = [] if one.is_open else ["not established"]
    notes += [] if one.incoming else ["dialled"]
    sizes = size_text(one.received), size_text(one.sent)
    return (
        one.id,
        one.kind,
        one.peer,
        one.name,
        one.who,
        age_text(one.age),
        *sizes,
        ", ".join(notes),
    )


def _dependent_rows(one: DependentInfo) -> Iterator[tuple[str, ...]]:
    client = one.id, one.peer, one.who, age_text(one.age), f"{one.transactions:,}"
    for queue in one.queues:
        longest = "" if queue.longest is None else age_text(queue.longest)
        yield *client, queue.name, queue.access, f"{queue.waiting:,}", longest
    if not one.queues:
        yield *client, "", "", "", ""


def _recording_row(one: RecordingInfo) -> tuple[str, ...]:
    size = size_text(sum(file.size for file in one.files))
    times = time_text(one.began), time_text(one.until)
    return one.id, one.state, one.peer or "all", *times, str(len(one.files)), size, one.by


def _recording(one: RecordingInfo) -> dict[str, Any]:
    return {**asdict(one), "began": time_json(one.began), "until": time_json(one.until)}


def _option_row(one: ConfigurationEntry) -> tuple[str, ...]:
    note = "needs a restart" if one.needs_restart else "needs a reload" if one.reloads else ""
    same = one.file == one.running
    return one.place, one.running[:_VALUE_SHOWN], "" if same else one.file[:_VALUE_SHOWN], note
