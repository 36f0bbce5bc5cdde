"""The command `openmsmq`."""

from __future__ import annotations

import click

from openmsmq.cli.decode import decode


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="openmsmq")
def main() -> None:
    """Microsoft Message Queuing for everyone who is not on Windows."""


main.add_command(decode)
