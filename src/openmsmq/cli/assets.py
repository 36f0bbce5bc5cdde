"""`openmsmq assets`: files for operators that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from openmsmq.assets import ASSETS
from openmsmq.cli.options import json_option
from openmsmq.cli.output import print_json


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@json_option
def assets(directory: Path, *, force: bool, as_json: bool) -> None:
    """Copy the systemd unit, Grafana dashboard, alert rules, health check and schemas to DIR.

    The directory is created if it does not exist. Files that are there are left as they are,
    and the command fails, unless --force is given. With the JSON schemas an editor completes and
    checks TOML files: write `#:schema configuration.schema.json` in the first line of a file.

    \b
    Examples:
      openmsmq assets .
      openmsmq assets /etc/openmsmq --force --json
    """
    directory.mkdir(parents=True, exist_ok=True)
    taken = [name for name in ASSETS if (directory / name).exists()]
    if taken and not force:
        raise click.ClickException(
            f"{directory / taken[0]} exists; use --force to overwrite it, or name another directory"
        )
    source = files("openmsmq.assets")
    for name in ASSETS:
        (directory / name).write_bytes((source / name).read_bytes())
    for name, about in ASSETS.items():
        if as_json:
            print_json({"path": str(directory / name), "about": about})
        else:
            click.echo(f"{directory / name}: {about}")
