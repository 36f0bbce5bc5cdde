"""One Spark session and one queue manager for all tests of this folder."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.managers import ManagerProcess

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402

import openmsmq  # noqa: E402
from openmsmq import Manager  # noqa: E402
from openmsmq.spark import register  # noqa: E402

SOURCES = Path(openmsmq.__file__).parents[1]


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    """A queue manager in a process of its own."""
    process = ManagerProcess(tmp_path_factory.mktemp("service"), "shop01").start()
    yield process
    process.stop()


@pytest.fixture
def manager(service: ManagerProcess) -> Iterator[Manager]:
    """A connection to it."""
    with openmsmq.connect(service.app) as connected:
        yield connected


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, with the format registered."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = f"{SOURCES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2, 3]")
        .config("spark.ui.enabled", "false")
        .config("spark.python.authenticate.socketTimeout", "120s")  # the machine may be busy
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    register(session)
    yield session
    session.stop()


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names of queues that no other test has."""
    test = request.node.name.removeprefix("test_").partition("[")[0]
    return lambda name: f"{test[:60]}-{name}"
