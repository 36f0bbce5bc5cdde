"""`openmsmq peer`: other queue managers, and which of them are known to be where."""

from __future__ import annotations

from dataclasses import asdict

import click

from openmsmq.cli.options import ManagerLocation, manager_options
from openmsmq.cli.output import print_json, print_table
from openmsmq.types.peers import PeerInfo


@click.group()
def peer() -> None:
    """List other queue managers: where they answered, and the sessions they have here.

    \b
    Example:
      openmsmq peer list
    """


@peer.command(name="list")
@manager_options
def list_(*, location: ManagerLocation, as_json: bool) -> None:
    """List the peer table and the open sessions.

    ADDRESS is where a queue manager answered when it was dialled; without one, its sessions are
    taken at their word. NOTES say what is pinned, what may relay, and what looks wrong.

    \b
    Examples:
      openmsmq peer list
      openmsmq peer list --json | jq .sessions
    """
    with location.open() as manager:
        found = manager.peers()
    if as_json:
        for info in found:
            print_json({**asdict(info), "id": str(info.id)})
        return
    print_table(("ID", "NAMES", "ADDRESS", "SESSIONS FROM", "NOTES"), map(_row, found))


def _row(info: PeerInfo) -> tuple[str, ...]:
    address = f"{info.address}:{info.port}" if info.address else ""
    sessions = ", ".join(info.sessions)
    return str(info.id), ", ".join(info.names), address, sessions, "; ".join(_notes(info))


def _notes(info: PeerInfo) -> list[str]:
    """What is worth a word about a peer."""
    found = []
    if info.pinned:
        found.append("pinned")
    if info.relay:
        found.append("relay")
    if info.claimed_from:
        found.append(f"claimed from {', '.join(info.claimed_from)}")
    if info.missing:
        found.append(f"{info.missing} numbers missing since the restore")
    return found
