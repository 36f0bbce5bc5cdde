"""A PostgreSQL server of one's own, for tests and benchmarks: killed and started again at will."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

PATIENCE: Final = 60.0
"Seconds after which it will not start any more."
DEBIAN: Final = Path("/usr/lib/postgresql")
OPTIONS: Final = {
    "listen_addresses": "",
    "max_prepared_transactions": "20",
    "shared_buffers": "16MB",
    "log_min_messages": "warning",
}


class PostgresMissing(Exception):
    """There is no PostgreSQL here; `make setup` installs it where it may."""


def find_programs() -> Path:
    """Where `initdb` and `postgres` are."""
    found = shutil.which("initdb")
    if found is not None and shutil.which("postgres"):
        return Path(found).parent
    versions = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        raise PostgresMissing(
            "PostgreSQL is not installed, and nothing else will do here:"
            " apt-get install postgresql, or run `make setup` as root"
        )
    return versions[-1].parent


class Postgres:
    """A server with a database `shop`, reached through a Unix socket."""

    def __init__(self) -> None:
        self._programs = find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="openmsmq-pg-"))
        self._as: dict[str, Any] = {}
        if os.getuid() == 0:  # whom it refuses to serve
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self.dsn = f"host={self.folder} user=postgres dbname=shop"
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()
        with psycopg.connect(f"{self.dsn} dbname=postgres", autocommit=True) as connection:
            connection.execute("create database shop")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(  # noqa: S603
            command, cwd=self.folder, capture_output=True, text=True, check=False, **self._as
        )
        assert done.returncode == 0, done.stderr

    @property
    def environment(self) -> dict[str, str]:
        """What lets any client find it without being told."""
        return {"PGHOST": str(self.folder), "PGUSER": "postgres", "PGDATABASE": "shop"}

    def start(self) -> None:
        """Run it, until it lets programs in."""
        options = [f"-c{name}={value}" for name, value in OPTIONS.items()]
        command = [str(self._programs / "postgres"), "-D", self._data, "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [*command, *options], cwd=self.folder, stdout=log, stderr=log, **self._as
            )
        end = time.monotonic() + PATIENCE
        while not self._is_up():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "PostgreSQL did not start"
            time.sleep(0.02)

    def _is_up(self) -> bool:
        try:
            psycopg.connect(f"{self.dsn} dbname=postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """End it without a warning, with all processes that it has started."""
        assert self._process is not None
        children = list(_children(self._process.pid))
        self._process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while any(_is_alive(child) for child in children):
            assert time.monotonic() < end, "PostgreSQL did not end"
            time.sleep(0.01)

    def close(self) -> None:
        """End it, and remove all of it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # its fast way to stop
            self._process.wait(PATIENCE)
        shutil.rmtree(self.folder)


def _children(parent: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    yield int(entry.name)


def _is_alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
