"""`python -m tests.fuzz [--runs N] [TARGET ...]`: fuzz the decoders, one process a target.

What the fuzzer finds interesting joins the corpus; an input that breaks a promise is left in
tests/fuzz/crashes. With `--plain` inputs are made from the corpus at random, without coverage: ten
to a hundred times as many in the same time.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import corpus, mutations

CRASHES = Path(__file__).parent / "crashes"


def main() -> int:
    """Fuzz the targets named, or all; the exit code is the number of broken ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="inputs for each target")
    parser.add_argument("--plain", action="store_true", help="without coverage, and much faster")
    parser.add_argument("--seed", type=int, help="repeats a run with --plain")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args()
    from tests.fuzz.targets import TARGETS

    chosen = options.targets or sorted(TARGETS)
    if options.plain:
        seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
        broken = [name for name in chosen if not fuzz_plainly(name, options.runs, seed)]
    else:
        broken = [name for name in chosen if not fuzz(name, options.runs)]
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


def fuzz_plainly(name: str, runs: int, seed: int) -> bool:
    """The same with inputs that are drawn without a look at coverage."""
    from tests.fuzz.targets import TARGETS

    def say(text: str) -> None:
        sys.stdout.write(f"{name}: {text}")
        sys.stdout.flush()

    CRASHES.mkdir(exist_ok=True)
    crash = CRASHES / f"{name}-{seed}"
    return mutations.run(TARGETS[name], corpus.load(name), runs, seed, crash, say)


def _run(target: str, *arguments: str) -> bool:
    command = [sys.executable, "-m", "tests.fuzz.run", target, *arguments]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
