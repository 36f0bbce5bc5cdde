"""`openmsmq spark`: what a cluster needs of us."""

from __future__ import annotations

from pathlib import Path

import click

from openmsmq.cli.options import json_option
from openmsmq.cli.output import count_text, print_json, size_text
from openmsmq.spark.package import write_package


@click.group()
def spark() -> None:
    """Prepare a Spark cluster.

    \b
    Examples:
      openmsmq spark package openmsmq.zip
    """


@spark.command()
@click.argument("out", metavar="OUT.zip", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def package(out: Path, *, as_json: bool) -> None:
    """Write the archive that brings the `msmq` format to the workers of a cluster.

    Give it to spark-submit with --py-files, or to a session with spark.addArtifact or
    SparkContext.addPyFile. Workers need Python 3.11 or newer with pyarrow and lxml, and nothing
    else. Pipelines that run on a cluster send it by themselves.

    \b
    Examples:
      openmsmq spark package openmsmq.zip
      openmsmq spark package openmsmq.zip --json
    """
    count = write_package(out)
    size = out.stat().st_size
    if as_json:
        print_json({"path": str(out), "modules": count, "bytes": size})
    else:
        click.echo(f"wrote {out}: {count_text(count, 'module')}, {size_text(size)}")
