"""`python -m tests.fuzz [--runs N] [TARGET ...]`: fuzz the decoders, one process a target.

What the fuzzer finds interesting joins the corpus; an input that breaks a promise is left in
tests/fuzz/crashes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import corpus

CRASHES = Path(__file__).parent / "crashes"


def main() -> int:
    """Fuzz the targets named, or all; the exit code is the number of broken ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="inputs for each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args()
    from tests.fuzz.targets import TARGETS

    broken = [t for t in options.targets or sorted(TARGETS) if not fuzz(t, options.runs)]
    sys.stdout.write(f"fuzzing: {len(broken)} targets broken {broken}\n")
    return len(broken)


def fuzz(target: str, runs: int) -> bool:
    """Fuzz one target and keep what widened its coverage; False if a promise was broken."""
    CRASHES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        found, kept = Path(work, "found"), Path(work, "kept")
        corpus.unpack(corpus.load(target), found)
        kept.mkdir()
        limits = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=2048"]
        prefix = f"-artifact_prefix={CRASHES}/{target}-"
        holds = _run(target, f"-runs={runs}", *limits, prefix, "-print_final_stats=1", str(found))
        _run(target, "-merge=1", *limits, str(kept), str(found))
        corpus.save(target, [path.read_bytes() for path in kept.iterdir()])
    return holds


def _run(target: str, *arguments: str) -> bool:
    command = [sys.executable, "-m", "tests.fuzz.run", target, *arguments]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
