"""`openmsmq message`: the messages of a queue."""

from __future__ import annotations

import click

from openmsmq.cli.messages.export import export
from openmsmq.cli.messages.imports import import_
from openmsmq.cli.messages.move import move
from openmsmq.cli.messages.read import peek, receive
from openmsmq.cli.messages.redirect import delete, find, redirect, return_
from openmsmq.cli.messages.send import send


@click.group()
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


for _command in (send, peek, receive, find, move, return_, redirect, delete, export, import_):
    message.add_command(_command)
