"""From one manager to another on this computer: sender, two managers, 1 KiB bodies.

`python -m bench.transfer [MESSAGES]`, 100,000 unless told otherwise. The messages are put into a
queue that is paused; then it is resumed and the clock runs until the other manager has them all.
Recoverable and transactional ones are on the disks of both.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import openmsmq
from bench import loopback
from bench.servers import free_port
from openmsmq import Message

BATCH = 1000
BODY = bytes(range(256)) * 4
KINDS = ("express", "recoverable", "transactional")


class Manager:
    """A manager in a process of its own."""

    def __init__(
        self,
        folder: Path,
        name: str,
        port: int,
        peers: dict[str, int],
        options: Iterable[str] = (),
    ) -> None:
        self._folder = folder / name
        self._folder.mkdir(exist_ok=True)
        self.address = f"unix:{self._folder / 'app'}"
        self._command = [
            *(sys.executable, "-m", "openmsmq", "serve", "--data", str(self._folder / "data")),
            *("--name", name, "--app-socket", str(self._folder / "app"), "--app-port", "off"),
            *("--console-port", "off", "--log-level", "error", "--binary-port", str(port)),
            *options,
        ]
        for peer, place in peers.items():
            self._command += ["--peer", f"{peer}=127.0.0.1:{place}"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it, until it is ready."""
        ready = self._folder / "ready.json"
        ready.unlink(missing_ok=True)
        self._process = subprocess.Popen([*self._command, "--ready-file", str(ready)])
        while not ready.exists():
            assert self._process.poll() is None, "the manager ended"
            time.sleep(0.02)
        assert json.loads(ready.read_text())["binary"]

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def fill(manager: openmsmq.Manager, queue: openmsmq.Queue, kind: str, count: int) -> None:
    """Put messages into the outgoing queue."""
    message = Message(BODY, label="order", recoverable=kind != "express")
    for _ in range(count // BATCH):
        if kind == "transactional":
            with manager.transaction() as transaction:
                queue.send_many([message] * BATCH, transaction=transaction)
        else:
            queue.send_many([message] * BATCH)


def measure(sender: Manager, receiver: Manager, kind: str, count: int) -> float:
    """Messages a second."""
    with openmsmq.connect(sender.address) as manager:
        queue = manager.open_queue(rf"DIRECT=OS:b\private$\{kind}")
        queue.pause()
        fill(manager, queue, kind, count)
        with openmsmq.connect(receiver.address) as there:
            arrived = there.open_queue(kind)
            queue.resume()
            start = time.perf_counter()
            while arrived.info().messages < count:
                time.sleep(0.01)
            seconds = time.perf_counter() - start
            arrived.purge()
        while any(info.messages for info in manager.queues(everything=True)):
            time.sleep(0.05)
    return count / seconds


def main(count: int = 100_000) -> None:
    """Measure all three kinds, beside what the network does."""
    raw = loopback.packets_per_second()
    print(f"{'manager to manager, 1 KiB':<52}{'of raw':>21}")
    print(f"  {'one packet a write, nothing else (raw)':<50}{raw:>12,.0f}/s")
    folder = Path(tempfile.mkdtemp())
    ports = free_port(), free_port()
    sender = Manager(folder, "a", ports[0], {"b": ports[1]})
    receiver = Manager(folder, "b", ports[1], {"a": ports[0]})
    try:
        sender.start()
        receiver.start()
        with openmsmq.connect(receiver.address) as manager:
            for kind in KINDS:
                manager.create_queue(kind, transactional=kind == "transactional")
        for kind in KINDS:
            rate = measure(sender, receiver, kind, count)
            print(f"  {kind:<50}{rate:>12,.0f}/s{rate / raw:>8.2f}x", flush=True)
    finally:
        sender.stop()
        receiver.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
