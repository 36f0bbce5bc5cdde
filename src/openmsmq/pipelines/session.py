"""A Spark session for a pipeline, quiet: what Spark has to say goes to a file."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.cluster import is_local, send_along
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.spec import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.streaming.stopTimeout": "60s",
}
"Settings that a file can change."


def check_installed() -> None:
    """`PipelineError` if there is no Spark or no Java, which only a driver needs here."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise PipelineError("pipelines need Spark: pip install 'openmsmq[spark]'") from None
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise PipelineError("Spark needs Java 17 or newer: apt install openjdk-17-jre-headless")


def start_session(pipeline: Pipeline, log: Path) -> SparkSession:
    """Start Spark and let it know the format `msmq`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from openmsmq.spark import register

    _let_workers_find(pipeline.folder)
    if is_local(pipeline.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {**DEFAULTS, **pipeline.spark, "spark.app.name": pipeline.name}
    conf = SparkConf(loadDefaults=False).setMaster(pipeline.master)
    conf.setAll(list(settings.items()))
    gateway = SparkContext._gateway  # Java stays when a session ends, and serves the next one
    if gateway is None:
        with log.open("ab") as file:
            gateway = launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]  # it has no types
    context = SparkContext(conf=conf, gateway=gateway)
    _write_to(log)
    send_along(context, pipeline, log.parent)
    session = SparkSession(context)
    register(session)
    return session


def _write_to(log: Path) -> None:
    """What the Python side of Spark logs goes to the same file."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # Spark 4.0 logs nothing here
        return
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(logging.FileHandler(log))
    logger.propagate = False


def _let_workers_find(folder: Path) -> None:
    """Workers on this computer run the same Python, with modules of ours and of the pipeline."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sources = str(Path(__file__).parents[2])
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = dict.fromkeys([sources, str(folder), *filter(None, known)])
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
