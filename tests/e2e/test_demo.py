"""`openmsmq demo` as people run it, with few orders; as many as it shows in acceptance."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"
    ),
]


FEW = 3000
AS_SHOWN = 100_000
"What people get who run it without options."


def command(*more: str, orders: int = FEW) -> list[str]:
    return [sys.executable, "-m", "openmsmq", "demo", "--orders", str(orders), *more]


def managers_of(folder: Path) -> list[Path]:
    """The processes that work below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if str(folder).encode() in line and b"serve" in line:
            found.append(process)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("orders", [FEW, pytest.param(AS_SHOWN, marks=pytest.mark.acceptance)])
def test_the_demonstration_counts_exactly_and_leaves_nothing(tmp_path: Path, orders: int) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    plot = tmp_path / "plot.svg"
    done = subprocess.run(
        command("--json", "--plot", str(plot), orders=orders),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(done.stdout)["counts"]
    assert len(counts) == 11
    assert all(one["expected"] == one["found"] for one in counts)
    assert plot.read_text().startswith("<svg")
    assert managers_of(tmp_path) == []
    assert list(tmp_path.glob("openmsmq-demo-*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_the_demonstration_can_be_ended_at_any_time(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(command(), env=environment, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while len(managers_of(tmp_path)) < 2:
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 130
    end = time.monotonic() + 20
    while managers_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)  # the system takes a moment to forget a process
    assert managers_of(tmp_path) == []
    assert list(tmp_path.glob("openmsmq-demo-*")) == []
