"""Queue managers in processes of their own, which speak to each other over real sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import openmsmq
from openmsmq import Manager

PATIENCE: Final = float(os.environ.get("OPENMSMQ_TEST_PATIENCE", "60"))
"Seconds after which a test has failed."
Place = tuple[str, int]


def free_port(host: str = "127.0.0.1") -> int:
    """A port that no one has, for one who has to have the same again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def until(
    condition: Callable[[], object], what: str = "it never happened", patience: float = PATIENCE
) -> None:
    """Wait for something."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def address(place: Place) -> str:
    """A place as `--peer` wants it."""
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class ManagerProcess:
    """A manager that can be killed and started again, in the same directory and at the same port.

    Programs reach it by a Unix socket. With `source` it runs the code in that directory, with
    `network` in that network namespace.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        bind: str = "127.0.0.1",
        port: int = 0,
        peers: Mapping[str, Place] | None = None,
        options: Iterable[str] = (),
        source: Path | None = None,
        network: str = "",
    ) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.name = name
        self.app = f"unix:{self.folder / 'app'}"
        self.ready: dict[str, Any] = {}
        inside = ("ip", "netns", "exec", network) if network else ()
        self._command = [
            *(
                *inside,
                sys.executable,
                "-m",
                "openmsmq",
                "serve",
                "--data",
                str(self.folder / "data"),
            ),
            *("--name", name, "--app-socket", str(self.folder / "app"), "--app-port", "off"),
            *("--console-port", "off", "--log-level", "warning", "--binary-bind", bind),
            *("--binary-port", str(port), *options),
        ]
        for peer, place in (peers or {}).items():
            self._command += ["--peer", f"{peer}={address(place)}"]
        self.environment = dict(os.environ)
        if source is not None:
            self.environment["PYTHONPATH"] = str(source)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def place(self) -> Place:
        """Where other managers find it."""
        host, port = self.ready["binary"]
        return host, port

    @property
    def id(self) -> str:
        """Its identity."""
        return str(self.ready["id"])

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> ManagerProcess:
        """Run it, until it is ready."""
        file = self.folder / "ready.json"
        file.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            command = [*self._command, "--ready-file", str(file)]
            process = subprocess.Popen(command, stderr=log, env=self.environment)
            self._process = process

        def is_ready() -> bool:
            assert process.poll() is None, (self.folder / "log").read_text()
            return file.exists()

        try:
            until(is_ready, f"{self.name} did not start")
        except AssertionError:
            self.kill()  # it may be ready later, when no one stops it any more
            raise
        self.ready = json.loads(file.read_text())
        return self

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(PATIENCE)

    @property
    def is_over(self) -> bool:
        """Someone has ended it."""
        assert self._process is not None
        return self._process.poll() is not None

    def stop(self) -> None:
        """End it in good order."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(PATIENCE) == 0, (self.folder / "log").read_text()

    def connect(self) -> Manager:
        """Speak to it as a program does, also after it was killed."""
        return openmsmq.connect(self.app, reconnect=PATIENCE)


@contextmanager
def running(*managers: ManagerProcess) -> Iterator[None]:
    """Managers that do not outlive the test."""
    try:
        for manager in managers:
            manager.start()
        yield
    finally:
        for manager in managers:
            manager.kill()


def texts(manager: Manager, name: str) -> list[str]:
    """What is in a queue, in its order: from a service, as much as one answer holds."""
    return [str(m.text) for m in manager.open_queue(name).peek_many(1_000_000, timeout=0)]


def is_everything_sent(manager: Manager) -> bool:
    """Nothing waits in outgoing queues, or to be acknowledged."""
    infos = manager.outgoing()
    return not any(i.messages + i.unacknowledged + i.unprocessed for i in infos)
