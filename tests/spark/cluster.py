"""A Spark cluster on this computer: a master and workers, in processes of their own.

Their Python sees nothing but what workers must bring along: not this package.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import lxml
import pyarrow
import pyspark

from tests.e2e.managers import free_port, until

HOST: Final = "127.0.0.1"
HOME: Final = Path(pyspark.__file__).parent
_CLASSES: Final = "org.apache.spark.deploy"


class Cluster:
    """A master and some workers with one core each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self.url = f"spark://{HOST}:{free_port()}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.python = folder / "python"
        self._make_python()

    def _make_python(self) -> None:
        """A Python with pyarrow and lxml, and nothing else that is installed here."""
        bare = self._folder / "bare"
        bare.mkdir()
        for package in (pyarrow, lxml):
            home = Path(str(package.__file__)).parent
            (bare / home.name).symlink_to(home)
        self.python.write_text(
            f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{bare}" exec {sys.executable} -S "$@"\n'
        )
        self.python.chmod(0o755)

    def __enter__(self) -> Self:
        port = self.url.rpartition(":")[2]
        self._start("master", "master.Master", "-h", HOST, "-p", port)
        until(lambda: "New state: ALIVE" in self.log("master"), "no master", 200)
        for number in range(self._count):
            work = self._folder / f"work{number}"
            options = ("-h", HOST, "-c", "1", "-m", "700m", "-d", str(work), self.url)
            self._start(f"worker{number}", "worker.Worker", *options)
        until(
            lambda: self.log("master").count("Registering worker") == self._count, "no workers", 200
        )
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            _kill(process)

    def kill_worker(self) -> None:
        """End a worker and all it has started, without a warning."""
        _kill(self._processes.pop())

    def log(self, name: str) -> str:
        """What one of them has written."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def everything_written(self) -> str:
        """The logs of all of them and of their executors."""
        files = [*self._folder.glob("*.log"), *self._folder.glob("work*/*/*/std*")]
        return "".join(file.read_text(errors="replace") for file in files)

    def _start(self, name: str, kind: str, *options: str) -> None:
        environment = {
            name: os.environ[name] for name in ("PATH", "JAVA_HOME", "HOME") if name in os.environ
        }
        environment |= {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [str(HOME / "bin" / "spark-class"), f"{_CLASSES}.{kind}", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, *options],
                env=environment,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        self._processes.append(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
