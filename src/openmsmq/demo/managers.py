"""The two queue managers of the demonstration, in processes of their own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import openmsmq
from openmsmq import Manager
from openmsmq.errors import ServiceNotAvailable

HOST: Final = "127.0.0.1"
PATIENCE: Final = 60.0
"Seconds that anything may take before the demonstration gives up."


def free_port() -> int:
    """A port that is free now; a manager that starts again needs the same one."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class ManagerProcess:
    """`openmsmq serve` in a folder of its own, that can be killed and started again."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        self.binary_port = free_port()
        self.app_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where programs find it."""
        return f"{HOST}:{self.app_port}"

    @property
    def binary_address(self) -> str:
        """Where other queue managers find it."""
        return f"{HOST}:{self.binary_port}"

    @property
    def pid(self) -> int:
        """Its process; 0 if there is none."""
        return 0 if self._process is None else self._process.pid

    def start(self, peers: Mapping[str, str]) -> None:
        """Run it, and wait until it is ready; `ServiceNotAvailable` if it never is."""
        self.folder.mkdir(exist_ok=True)
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            # A session of its own: Ctrl-C in the terminal is for the demonstration, which ends it.
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                self._command(peers, ready),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise ServiceNotAvailable(f"the manager {self.name}: {self._last_words()}")
            time.sleep(0.02)

    def _command(self, peers: Mapping[str, str], ready: Path) -> list[str]:
        given = [word for name, at in peers.items() for word in ("--peer", f"{name}={at}")]
        return [
            *(sys.executable, "-m", "openmsmq", "serve", "--name", self.name, "--bind", HOST),
            *("--data", str(self.folder / "data"), "--ready-file", str(ready)),
            *("--app-port", str(self.app_port), "--binary-port", str(self.binary_port)),
            *("--console-port", "off", "--log-level", "warning", *given),
        ]

    def _last_words(self) -> str:
        """The last line of its log."""
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it did not start"

    def connect(self) -> Manager:
        """Speak to it as a program does."""
        return openmsmq.connect(self.address, timeout=PATIENCE, reconnect=PATIENCE)

    def kill(self) -> None:
        """End it without a warning, as when the power fails."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def stop(self) -> None:
        """End it in good order, or, if it does not listen, without."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()


class Managers:
    """Two of them, each of which knows where the other is."""

    def __init__(self, folder: Path) -> None:
        self.shop = ManagerProcess(folder, "shop")
        self.office = ManagerProcess(folder, "office")

    def start(self) -> None:
        """Run both."""
        self.start_office()
        self.shop.start({self.office.name: self.office.binary_address})

    def start_office(self) -> None:
        """Run the one that orders go to."""
        self.office.start({self.shop.name: self.shop.binary_address})

    def stop(self) -> None:
        """End both."""
        self.shop.stop()
        self.office.stop()
