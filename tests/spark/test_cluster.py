"""A pipeline on a cluster, from a manager with TLS and a token; a worker is killed half-way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import openmsmq
from openmsmq import Manager, Message
from openmsmq.access.tokens import Tokens
from openmsmq.errors import TokenRefused
from tests.certificates import make_certificates
from tests.e2e.managers import ManagerProcess, free_port, running, until
from tests.spark.cluster import HOST, Cluster

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"
    ),
]
MESSAGES = 2_000
PATIENCE = 240.0
"Seconds: six Java machines on a busy computer take their time."
PIPELINE = """
name = "cluster"
checkpoint = "checkpoint"

[source]
manager = "{manager}"
queue = "orders"
token_file = "token"
tls_ca = "ca.pem"
max_messages_per_trigger = 250
messages_per_partition = 50

[transform]
sql = "select label, upper(cast(body as string)) as value from source"

[sink]
kind = "queue"
manager = "{manager}"
queue = "done"
token_file = "token"
tls_ca = "ca.pem"

[spark]
"spark.executor.memory" = "512m"
"spark.driver.host" = "127.0.0.1"
"spark.task.maxFailures" = "8"
"""


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[str]:
    """The address of a manager that asks for TLS and a token; both are in the folder."""
    make_certificates(tmp_path)
    port = free_port()
    options = (
        "--tls-cert",
        str(tmp_path / "server.pem"),
        "--tls-key",
        str(tmp_path / "server.key"),
    )
    process = ManagerProcess(
        tmp_path, "shop01", options=(*options, "--bind", "0.0.0.0", "--app-port", str(port))
    )
    (process.folder / "data").mkdir()
    _, token = Tokens.load(process.folder / "data").create("admin")
    (tmp_path / "token").write_text(token)
    with running(process):
        yield f"{HOST}:{port}"


def connect(folder: Path, address: str) -> Manager:
    token = (folder / "token").read_text()
    return openmsmq.connect(address, token=token, tls=str(folder / "ca.pem"))


@pytest.mark.acceptance
def test_every_message_once_although_a_worker_is_killed(tmp_path: Path, secured: str) -> None:
    with pytest.raises(TokenRefused, match="token is missing"):
        openmsmq.connect(secured, tls=str(tmp_path / "ca.pem"))
    (tmp_path / "cluster.toml").write_text(PIPELINE.format(manager=secured))
    with connect(tmp_path, secured) as manager, Cluster(tmp_path) as cluster:
        orders = manager.create_queue("orders")
        done = manager.create_queue("done", transactional=True)
        orders.send_many(Message(b"order", label=str(n)) for n in range(MESSAGES))
        run = (sys.executable, "-m", "openmsmq", "pipeline", "run", str(tmp_path / "cluster.toml"))
        driver = subprocess.Popen(
            [*run, "--master", cluster.url, "--runs", str(tmp_path / "runs")],
            env={**os.environ, "PYSPARK_PYTHON": str(cluster.python)},
        )
        try:
            until(lambda: done.info().messages > 0, patience=PATIENCE)
            cluster.kill_worker()
            assert done.info().messages < MESSAGES, "it was killed too late"
            assert driver.wait(PATIENCE) == 0
        finally:
            driver.kill()
        found = [message.label for message in done.peek_many(2 * MESSAGES, timeout=0)]
        assert sorted(map(int, found)) == list(range(MESSAGES))
        token = (tmp_path / "token").read_text()
        written = cluster.everything_written()
    assert "openmsmq.zip" in written
    assert token not in written
