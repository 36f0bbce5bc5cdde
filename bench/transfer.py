"""From one manager to another on this computer: sender, two managers, 1 KiB bodies.

`python -m bench.transfer [MESSAGES]`, 100,000 unless told otherwise. The messages are put into a
queue that is paused; then it is resumed and the clock runs until the other manager has them all.
Recoverable and transactional ones are on the disks of both. Beside the rate stands the processor
time of both managers for each message, until the sender has forgotten them, and the ratio of the
busier end to that of raw packets: it is what counts where the machine has other work.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import openmsmq
from bench import loopback
from bench.servers import free_port
from openmsmq import Message

BATCH = 1000
BODY = bytes(range(256)) * 4
KINDS = ("express", "recoverable", "transactional")


class Transfer(NamedTuple):
    """What a run has shown."""

    rate: float
    "Messages a second."
    sender: float
    "Microseconds of processor time for each, of both managers."
    receiver: float


def processor(pid: int) -> float:
    """Seconds that all threads of a process have worked."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


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


def measure(sender: Manager, receiver: Manager, kind: str, count: int) -> Transfer:
    """One run."""
    with openmsmq.connect(sender.address) as manager:
        queue = manager.open_queue(rf"DIRECT=OS:b\private$\{kind}")
        queue.pause()
        fill(manager, queue, kind, count)
        with openmsmq.connect(receiver.address) as there:
            arrived = there.open_queue(kind)
            before = [processor(manager.pid) for manager in (sender, receiver)]
            queue.resume()
            start = time.perf_counter()
            seconds = 0.0
            while arrived.info().messages < count:
                time.sleep(0.01 + seconds / 20)  # to ask costs something, too
                seconds = time.perf_counter() - start
            while any(info.messages for info in manager.queues(everything=True)):
                time.sleep(0.5)
            after = [processor(manager.pid) for manager in (sender, receiver)]
            arrived.purge()
    worked = [(end - begin) / count * 1e6 for begin, end in zip(before, after, strict=True)]
    return Transfer(count / seconds, *worked)


def _cpu(found: Transfer | loopback.Loopback, raw: loopback.Loopback | None) -> str:
    """Microseconds of both ends, and how the busier one compares with raw packets."""
    text = f"{found.sender:>7.1f}{found.receiver:>6.1f} us"
    if raw is None:
        return " " * 9 + text
    return f"{text}{max(raw[1:]) / max(found[1:]):>8.2f}x"


def main(count: int = 100_000) -> None:
    """Measure all three kinds, beside what the network does."""
    raw = loopback.measure()
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"{'manager to manager, 1 KiB':<46}{'rate':>10}{'of raw':>9}{'CPU':>15}{'of raw':>9}")
    print(f"  {'one packet a write, nothing else (raw)':<42}{raw.rate:>10,.0f}/s{_cpu(raw, None)}")
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
            found = measure(sender, receiver, kind, count)
            ratio = f"{found.rate / raw.rate:>8.2f}x"
            print(f"  {kind:<42}{found.rate:>10,.0f}/s{ratio}{_cpu(found, raw)}", flush=True)
    finally:
        sender.stop()
        receiver.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
