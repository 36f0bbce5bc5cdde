"""The command `openmsmq`."""

from __future__ import annotations

import sys
from functools import partial
from io import TextIOWrapper
from typing import Final

import click

from openmsmq import __version__
from openmsmq.cli.later import Later, LaterGroup
from openmsmq.cli.options import Commands, place_options


class Main(Commands, LaterGroup):
    """The group of all commands."""


COMMANDS: Final = {
    "apply": (
        "apply:apply",
        "Bring queues and settings to the state that a TOML file describes.",
    ),
    "assets": (
        "assets:assets",
        "Copy the systemd unit, Grafana dashboard, alert rules, health check and schemas to DIR.",
    ),
    "audit": (
        "security.audit:audit",
        "Show the audit log: access that was denied, and what administrators did.",
    ),
    "backup": (
        "maintenance:backup",
        "Copy the store to DEST, also while another process works with it.",
    ),
    "certificate": (
        "security.certificate:certificate",
        "Create certificates for signing messages, and register those that are trusted.",
    ),
    "check": (
        "maintenance:check",
        "Check every page and row of the store, and report what is wrong.",
    ),
    "compact": ("maintenance:compact", "Return unused space of the store to the disk."),
    "completion": (
        "completion:completion",
        "Print the script that makes a shell complete commands, options and names of queues.",
    ),
    "configuration": (
        "sessions.command:configuration",
        "Show how a service is configured, and what its file would change.",
    ),
    "console": (
        "console.command:console",
        "Run the web console for several queue managers, until Ctrl-C stops it.",
    ),
    "context": (
        "contexts.command:context",
        "Give names to queue managers, with the token and the CA that they need.",
    ),
    "decode": ("packets.decode:decode", "Explain every MSMQ packet in the input, field by field."),
    "demo": (
        "demo:demo",
        "Run the main job from end to end, and count that nothing was lost or doubled.",
    ),
    "directory": (
        "directory.command:directory",
        "Look at managers, public queues, sites and users in an Active Directory, and change them.",
    ),
    "doctor": (
        "doctor.command:doctor",
        "Find what is wrong or risky in a queue manager, and suggest what to do.",
    ),
    "explain": (
        "explain:explain",
        "Show the history of a message: what happened to it, when, where and why.",
    ),
    "key": (
        "security.key:key",
        "Manage the keys that encrypt message bodies between managers.",
    ),
    "manage": (
        "management.command:manage",
        "Manage a queue manager on another computer, MSMQ or OpenMSMQ, over RPC.",
    ),
    "message": (
        "messages.group:message",
        "Send, read, find, move, return, export and import messages.",
    ),
    "multicast": (
        "multicast.command:multicast",
        "Send to a group and listen to one, without a queue manager; list sessions of one.",
    ),
    "outgoing": (
        "outgoing:outgoing",
        "List, pause, resume and retry queues of messages for other computers.",
    ),
    "peer": (
        "peer:peer",
        "List other queue managers: where they answered, and the sessions they have here.",
    ),
    "pipeline": (
        "pipelines.group:pipeline",
        "Run data pipelines on Spark, watch them, and stop them.",
    ),
    "queue": ("queue:queue", "Create, delete, list and change queues."),
    "recording": (
        "sessions.command:recording",
        "Record what a service and other queue managers say to each other, for some time.",
    ),
    "restore": ("maintenance:restore", "Restore BACKUP as the store of the directory."),
    "serve": (
        "serve:serve",
        "Run a queue manager as a service, until a signal stops it.",
    ),
    "session": (
        "sessions.command:session",
        "List and end connections of other queue managers, programs and dependent clients.",
    ),
    "spark": ("spark:spark", "Prepare a Spark cluster."),
    "subscription": (
        "subscription:subscription",
        "List and drop durable subscriptions: consumers with a name and a position in a queue.",
    ),
    "token": (
        "token:token",
        "Create, list and revoke the tokens with which programs log in.",
    ),
    "topology": (
        "topology.command:topology",
        "Describe how sites are linked, and see the routes that messages take.",
    ),
    "transaction": (
        "transaction:transaction",
        "Decide transactions that were prepared and wait for their outcome.",
    ),
    "user": (
        "user:user",
        "Add, list and remove users, who log on over RPC (NTLM) to read queues.",
    ),
    "watch": (
        "console.watch:watch",
        "Watch the queues of a manager live: message counts and rates.",
    ),
}


@click.group(
    cls=Main,
    context_settings={"help_option_names": ["-h", "--help"]},
    commands=[Later(name, *entry) for name, entry in COMMANDS.items()],
)
@click.version_option(__version__, prog_name="openmsmq")
@partial(place_options, from_environment=True)
def main(**_: object) -> None:  # the commands find them in the context
    """Microsoft Message Queuing for everyone who is not on Windows.

    Commands work with a service (--manager or --context, else the one on this computer) or with a
    queue manager in a directory (--data); these can stand before or after the command. They exit
    with 0 when done, 1 when refused, with the error's name and HRESULT on stderr, 2 for wrong
    usage, and 3 when nothing came in time.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for terminals that do not know every character
