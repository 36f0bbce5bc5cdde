"""`openmsmq completion`: what makes a shell complete commands, options and queue names."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAM: Final = "openmsmq"
_VARIABLE: Final = "_OPENMSMQ_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete commands, options and names of queues.

    \b
    Examples:
      openmsmq completion bash > ~/.local/share/bash-completion/completions/openmsmq
      openmsmq completion zsh  > ~/.zfunc/_openmsmq
      openmsmq completion fish > ~/.config/fish/completions/openmsmq.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, _PROGRAM, _VARIABLE).source())
