"""How far one message walks through the code: calls, modules and changes of folder.

`python -m bench.walks`. One warm message, client and managers in processes of their own. A call
of a function of `openmsmq` counts as one call; a call into another folder than that of the call
before it is a change of folder. The smallest of some runs counts, so that timers do not. Below each
walk are the pairs of folders between which it changes most often.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import openmsmq
from bench.servers import free_port
from bench.transfer import Manager

RUNS: Final = 7
PAIRS: Final = 8
"Pairs of folders that are shown."
QUIET: Final = 0.6
"Seconds after which a message has arrived and its OrderAck has come back."
ROOT: Final = str(Path(openmsmq.__file__).parent) + os.sep


class Walk(NamedTuple):
    """What one message took."""

    calls: int
    modules: int
    changes: int
    pairs: list[tuple[int, str, str]]
    "Changes between two folders, either way, most first."


class Trace:
    """Counts the calls of this process while it is on."""

    def __init__(self) -> None:
        self._calls: list[str] = []

    def start(self) -> None:
        """Count from now on, in this thread."""
        self._calls = []
        sys.setprofile(self._on_event)

    def stop(self) -> list[str]:
        """The modules of all calls since, in order."""
        sys.setprofile(None)
        return self._calls

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(ROOT):
                self._calls.append(name.removeprefix(ROOT))


def walk_of(traces: list[list[str]]) -> Walk:
    """The traces of several processes together."""
    modules = {module for trace in traces for module in trace}
    pairs: Counter[tuple[str, ...]] = Counter()
    for trace in traces:
        folders = [module.partition(os.sep)[0] for module in trace]
        pairs.update(
            tuple(sorted(pair)) for pair in itertools.pairwise(folders) if pair[0] != pair[1]
        )
    ranked = [(count, one, other) for (one, other), count in pairs.most_common()]
    return Walk(sum(map(len, traces)), len(modules), pairs.total(), ranked)


class TracedManager(Manager):
    """A manager that counts its calls between two signals."""

    def __init__(self, folder: Path, name: str, port: int, peers: dict[str, int]) -> None:
        super().__init__(folder, name, port, peers)
        self._trace = self._folder / "trace.json"
        self._command[1:4] = ["-m", "bench.walks", str(self._trace), "serve"]

    def trace(self) -> None:
        """Begin to count."""
        self._trace.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        time.sleep(0.05)

    def traced(self) -> list[str]:
        """The modules of all calls since."""
        os.kill(self.pid, signal.SIGUSR2)
        while not self._trace.exists():
            time.sleep(0.01)
        found: list[str] = json.loads(self._trace.read_text())
        return found


def serve(path: Path, arguments: list[str]) -> None:
    """Run a manager that counts between two signals."""
    from openmsmq.cli.main import main as command

    trace = Trace()

    def write(*_: object) -> None:
        calls = trace.stop()
        making = path.with_suffix(".new")
        making.write_text(json.dumps(calls))
        making.replace(path)

    signal.signal(signal.SIGUSR1, lambda *_: trace.start())
    signal.signal(signal.SIGUSR2, write)
    command(arguments)


def measure(managers: list[TracedManager], act: Callable[[], object], quiet: float) -> Walk:
    """The shortest walk of some."""
    act()
    time.sleep(quiet)
    found = []
    trace = Trace()
    for _ in range(RUNS):
        for manager in managers:
            manager.trace()
        trace.start()
        act()
        own = trace.stop()
        time.sleep(quiet)
        found.append(walk_of([own, *(manager.traced() for manager in managers)]))
    return min(found)


def walks(folder: Path) -> dict[str, Walk]:
    """All that are measured."""
    ports = free_port(), free_port()
    sender = TracedManager(folder, "a", ports[0], {"b": ports[1]})
    receiver = TracedManager(folder, "b", ports[1], {"a": ports[0]})
    message = openmsmq.Message(b"body", label="order", recoverable=True)
    try:
        sender.start()
        receiver.start()
        with openmsmq.connect(receiver.address) as there:
            there.create_queue("in", transactional=True)
        with openmsmq.connect(sender.address) as here:
            queue = here.create_queue("walk")
            found = {"send": measure([sender], lambda: queue.send(message), 0.1)}
            with queue.stream(prefetch=1, explicit=True) as stream:
                queue.send_many([message] * (2 * RUNS))
                found["stream next + acknowledge"] = measure(
                    [sender], lambda: stream.acknowledge(next(stream)), 0.1
                )
            away = here.open_queue(r"DIRECT=OS:b\private$\in", access=openmsmq.Access.SEND)

            def transfer() -> None:
                with here.transaction() as transaction:
                    away.send(message, transaction=transaction)

            found["transactional transfer"] = measure([sender, receiver], transfer, QUIET)
    finally:
        sender.stop()
        receiver.stop()
    return found


def main() -> None:
    """Measure, and say what was found."""
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        print(f"{'one message':<40}{'calls':>8}{'modules':>9}{'folder changes':>16}")
        for name, walk in walks(folder).items():
            print(f"  {name:<38}{walk.calls:>8}{walk.modules:>9}{walk.changes:>16}", flush=True)
            for count, one, other in walk.pairs[:PAIRS]:
                print(f"{count:>62} {one} - {other}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
