"""What a pipeline sends along to the workers of a cluster, which need not have us installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.spec import Pipeline
from openmsmq.spark.package import write_package

if TYPE_CHECKING:
    from pyspark import SparkContext

PACKAGE: Final = "openmsmq.zip"


def is_local(master: str) -> bool:
    """All of Spark is on this computer, and sees the same files and modules."""
    return master.startswith("local")


def send_along(context: SparkContext, pipeline: Pipeline, folder: Path) -> None:
    """Let workers elsewhere have the connector and the module of the transform.

    The archive is kept in `folder`, from where workers fetch it whenever they start.
    """
    if is_local(pipeline.master):
        return
    path = folder / PACKAGE
    write_package(path)
    context.addPyFile(str(path))
    module = pipeline.transform.python.partition(":")[0].partition(".")[0]
    own = pipeline.folder / f"{module}.py"
    if module and own.is_file():
        context.addPyFile(str(own))
