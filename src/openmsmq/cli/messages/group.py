"""`openmsmq message`: the messages of a queue."""

from __future__ import annotations

from typing import Final

import click

from openmsmq.cli.later import Later, LaterGroup

COMMANDS: Final = {
    "send": ("send:send", "Send a message, or many."),
    "peek": ("read:peek", "Show messages and leave them where they are."),
    "receive": ("read:receive", "Take messages out of a queue and show them."),
    "find": (
        "redirect:find",
        "Find messages in all queues, or in some: by label, body, size, time and more.",
    ),
    "move": ("move:move", "Move messages between a queue and its subqueues."),
    "return": ("redirect:return_", "Return dead letters to the queues that they were sent to."),
    "redirect": (
        "redirect:redirect",
        "Send messages again to another queue, and remove them here in the same commit.",
    ),
    "delete": (
        "redirect:delete",
        "Delete messages for good; use message export first to keep a copy.",
    ),
    "export": (
        "export:export",
        "Write the messages of a queue as JSON lines, one object for each.",
    ),
    "import": (
        "imports:import_",
        "Send the messages in a file of JSON lines, as written by export.",
    ),
}


@click.group(
    cls=LaterGroup,
    commands=[Later(name, f"messages.{path}", help_) for name, (path, help_) in COMMANDS.items()],
)
def message() -> None:
    """Send, read, find, move, return, export and import messages.

    NAME is the name of a queue: orders means .\\private$\\orders. Dead letters, journals and
    subqueues can be read by their names; quote them for the shell.

    \b
    Examples:
      openmsmq message send orders --body '<order/>' --label 'order 1'
      openmsmq message receive orders --timeout 5
      openmsmq message peek '.\\DeadLetter$' --count 10
    """
