"""Two checkouts against each other: `python -m bench.versus OTHER [PAIRS] [MESSAGES]`.

Sender, manager and receiver are processes of their own; each pair runs the other checkout and this
one, in turns, and counts the processor time of each process. The median of the pairs' ratios
counts, with the second smallest and the second largest as its interval: below 1 this checkout is
cheaper.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench import race

HERE: Final = Path(__file__).parents[1]
PAIRS: Final = 10
MESSAGES: Final = 40_000
BATCH: Final = 1000
SENDER: Final = """
import sys, openmsmq
from openmsmq import Message
with openmsmq.connect(sys.argv[1]) as manager:
    queue = manager.create_queue("bench")
    batch = [Message(b"x" * 1024, label="order")] * int(sys.argv[3])
    for _ in range(int(sys.argv[2]) // len(batch)):
        queue.send_many(batch)
"""
RECEIVER: Final = """
import sys, openmsmq
with openmsmq.connect(sys.argv[1]) as manager:
    with manager.open_queue("bench").stream(4000, timeout=0) as stream:
        assert sum(1 for message in stream) == int(sys.argv[2])
"""


def run(checkout: Path, messages: int) -> dict[str, float]:
    """Microseconds of processor time for each message, by process."""
    python = str(checkout / ".venv" / "bin" / "python")
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ready, address = folder / "ready.json", f"unix:{folder / 'app'}"
        ports = [f"--{port}-port=off" for port in ("app", "console", "binary")]
        serve = ["-m", "openmsmq", "serve", "--data", str(folder / "data"), "--log-level=error"]
        command = [python, *serve, *ports, f"--app-socket={folder / 'app'}"]
        manager = subprocess.Popen([*command, f"--ready-file={ready}"], env=environment)
        race.wait_until(ready.exists, manager)
        found = {}
        for part, program in (("sender", SENDER), ("receiver", RECEIVER)):
            given = [address, str(messages), str(BATCH)]
            process = subprocess.Popen([python, "-c", program, *given], env=environment)
            found[part] = _ended(process, messages)
        manager.terminate()
        found["manager"] = _ended(manager, messages)
    return found | {"all": sum(found.values())}


def _ended(process: subprocess.Popen[bytes], messages: int) -> float:
    """The processor time of a process that has ended well, for each message."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{process.args!r} failed"
    return (usage.ru_utime + usage.ru_stime) / messages * 1e6


def main(other: Path, pairs: int = PAIRS, messages: int = MESSAGES) -> None:
    """Print the medians, and the ratios with their intervals."""
    rows = [(run(other, messages), run(HERE, messages)) for _ in range(pairs)]
    print(f"{'CPU per message':<16} {'other':>9} {'here':>9} {'ratio':>6}  interval")
    report = {}
    for part in ("sender", "manager", "receiver", "all"):
        before, after = ([row[side][part] for row in rows] for side in (0, 1))
        ratios = sorted(new / old for old, new in zip(before, after, strict=True))
        low, high = ratios[min(1, pairs - 1)], ratios[max(-2, -pairs)]
        middle = statistics.median(ratios)
        report[part] = middle
        times = f"{statistics.median(before):6.2f} us {statistics.median(after):6.2f} us"
        print(f"{part:<16} {times} {middle:6.2f}  {low:.2f} to {high:.2f}")
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:]))
