"""`openmsmq message`: the messages of a queue."""

from __future__ import annotations

import click

from openmsmq.cli.message_export import export
from openmsmq.cli.message_import import import_
from openmsmq.cli.message_move import move
from openmsmq.cli.message_read import peek, receive
from openmsmq.cli.message_send import send


@click.group()
def message() -> None:
    """Send, read, move, export and import messages.

    NAME is the name of a queue: orders means .\\private$\\orders. Dead letters, journals and
    subqueues can be read by their names; quote them for the shell.

    \b
    Examples:
      openmsmq message send orders --body '<order/>' --label 'order 1'
      openmsmq message receive orders --timeout 5
      openmsmq message peek '.\\DeadLetter$' --count 10
    """


for _command in (send, peek, receive, move, export, import_):
    message.add_command(_command)
