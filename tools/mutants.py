"""Do the tests notice when the code is wrong? `make mutants`, or `python -m tools.mutants`.

Some mutants of engine, sessions and store are drawn at random. Each is given to the tests that run
its line, those that noticed mutants of its module before and quick ones first. In the end what they
do not notice is given to models, to clients and to the simulator. A mutant that no test notices
survives. One that cannot be noticed, since it does the same, is listed in `equivalent_mutants.txt`
with the reason and does not count.

Which tests run the lines of the mutants is found out first (`tools.probes`). A run that was stopped
goes on where it was if it is begun again with its seed: what was noticed is not asked again while
its module and the file of its test are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tools.forked_tests import ForkedTests
from tools.mutation import Mutant, mutants, mutated
from tools.probes import PACKAGES, TESTS, Known, measured, tests_of
from tools.sandbox import ROOT, SOURCE, Outcome, Sandbox

BAR: Final = 0.95
"The share of mutants that has to be noticed."
CPU: Final = 15.0
"Seconds of the processor for the tests of a line."
CPU_WIDER: Final = 60.0
"As many for models, clients and the simulator, which only few mutants reach."
TIMEOUT: Final = 400.0
"Seconds for either; code that waits for ever is noticed, too."
UNSOUND_MAX: Final = 5
"How often tests are asked again without one that fails anyway."
SIMULATOR: Final = "tests/simulation/test_simulation.py::test_nothing_goes_wrong"
HTTP_SIMULATOR: Final = "tests/simulation/test_http_links.py::test_nothing_goes_wrong"
HTTP_SEEDS: Final = "tests/simulation/test_http_links.py::test_nor_does_it_with_many_seeds"
SEEDS: Final = "tests/simulation/test_simulation.py::test_nor_does_it_with_many_seeds"
PROGRAMS: Final = ("tests/unit/client/embedded/_async", "tests/unit/client/_async")
WIDER: Final = {
    "engine": (
        "tests/property/test_arrivals.py",
        "tests/property/test_units.py",
        SIMULATOR,
        "tests/property/test_queues.py",
        *PROGRAMS,
        HTTP_SIMULATOR,
        SEEDS,
        HTTP_SEEDS,
    ),
    "store": ("tests/property/test_store.py", "tests/property/test_queues.py", *PROGRAMS, SEEDS),
    "transports/mqqb": ("tests/property/test_sessions.py", SIMULATOR, SEEDS),
    "transports/peers": (SIMULATOR, SEEDS),
    "transports/pgm": ("tests/property/test_pgm.py",),
    "transports/srmp": (HTTP_SIMULATOR, "tests/property/test_srmp_streams.py", HTTP_SEEDS),
}
"What is asked about mutants that the tests of their line do not notice, quick ones first."
NO_PART: Final = frozenset({Path("openmsmq/transports/pgm/trial.py")})
"A tool that sends to a group and listens to one without a manager: no session that we promise."
ALL: Final = "not torture and not acceptance"
"The marks of tests that are collected: what `make test` runs."
EQUIVALENT: Final = Path(__file__).with_name("equivalent_mutants.txt")
KILLS: Final = ROOT / "build" / "mutants" / "kills.json"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    outcome: Outcome
    by: str = ""
    "The test that noticed it."

    @property
    def is_killed(self) -> bool:
        """A test has noticed it."""
        return self.outcome is Outcome.FAILED

    def __str__(self) -> str:
        what = "killed  " if self.is_killed else "SURVIVED"
        by = f" ({self.by or self.outcome})"
        return f"{what} line {self.mutant.line:3} {self.mutant.name}{by}"


@dataclass(slots=True)
class Kills:
    """The mutants that were noticed, in this run and before, and the tests that noticed them."""

    found: dict[str, tuple[str, str]] = field(default_factory=dict)
    "By the name of a mutant: the test, and a digest of the module and of the file of the test."
    unsound: set[str] = field(default_factory=set)
    "Tests that fail without any change: they have not noticed it."

    def add(self, verdict: Verdict) -> None:
        """Keep a mutant that was noticed."""
        if verdict.is_killed and verdict.by:
            by = verdict.by
            self.found[verdict.mutant.name] = by, _digest(verdict.mutant.module, by)

    def known(self, mutant: Mutant) -> Verdict | None:
        """What was found before, if neither the module nor the test has changed."""
        by, digest = self.found.get(mutant.name, ("", ""))
        is_same = by and digest == _digest(mutant.module, by)
        return Verdict(mutant, Outcome.FAILED, by) if is_same else None

    def first(self, tests: list[str], module: Path) -> list[str]:
        """Tests with those in front that noticed most mutants of a module."""
        start = f"{module}:"
        counts = Counter(by for name, (by, _) in self.found.items() if name.startswith(start))
        return sorted(tests, key=lambda test: -counts[test])

    def write(self, file: Path) -> None:
        """Keep it for later runs."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self.found))

    @staticmethod
    def read(file: Path) -> Kills:
        """What was kept."""
        kept = json.loads(file.read_text()) if file.exists() else {}
        return Kills({name: (by, digest) for name, (by, digest) in kept.items()})


def _digest(module: Path, test: str) -> str:
    files = SOURCE / module, ROOT / test.partition("::")[0]
    texts = b"".join(file.read_bytes() for file in files if file.is_file())
    return hashlib.sha256(texts).hexdigest()


def all_mutants() -> list[Mutant]:
    """Every mutant of engine, sessions and store, always in the same order."""
    return [m for module in modules() for m in mutants((SOURCE / module).read_text(), module)]


def modules() -> list[Path]:
    """The modules that are changed."""
    folders = [SOURCE / "openmsmq" / package for package in PACKAGES]
    found = [
        path.relative_to(SOURCE) for folder in folders for path in sorted(folder.rglob("*.py"))
    ]
    return [module for module in found if module not in NO_PART]


def equivalent(text: str) -> dict[str, str]:
    """The names of mutants that nobody can notice, and why: `name # reason`, one a line."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, mark, reason = line.partition("  # ")
            assert mark, f"no reason: {line}"
            assert reason.strip(), f"no reason: {line}"
            found[name] = reason
    return found


def try_all(drawn: Iterable[Mutant], known: Known, kills: Kills, jobs: int) -> Iterator[Verdict]:
    """Give each mutant to the tests of its line, some at a time; then those that are left farther.

    One whose line no test runs is given to the tests of its folder.
    """
    wide = sorted({test.partition("::")[0] for tests in WIDER.values() for test in tests})
    with ExitStack() as stack:
        free: SimpleQueue[ForkedTests] = SimpleQueue()
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for forked in pool.map(lambda _: ForkedTests([*TESTS, *wide], ALL), range(jobs)):
            free.put(stack.enter_context(forked))

        def judge(mutant: Mutant, tests: list[str], cpu: float) -> Verdict:
            forked = free.get()
            try:
                return judged(mutant, tests, kills, forked, cpu)
            finally:
                free.put(forked)

        def judge_closely(mutant: Mutant) -> Verdict:
            tests = kills.first(known.of(mutant), mutant.module)
            return judge(mutant, tests or near(mutant.module), CPU)

        def judge_farther(mutant: Mutant) -> Verdict:
            verdict = judge(mutant, wider(mutant.module), CPU_WIDER)
            return _imported(mutant) if verdict.outcome is Outcome.STOPPED else verdict

        left = []
        for verdict in pool.map(judge_closely, drawn):
            kills.add(verdict)
            if verdict.is_killed:
                yield verdict
            else:
                left.append(verdict.mutant)
        for verdict in pool.map(judge_farther, left):
            kills.add(verdict)
            yield verdict


def judged(
    mutant: Mutant, tests: list[str], kills: Kills, forked: ForkedTests, cpu: float = CPU
) -> Verdict:
    """Give a mutant to tests.

    A test that fails without the mutant, too, has not noticed it.
    """
    module, text = mutant.module, mutated((SOURCE / mutant.module).read_text(), mutant)
    for _ in range(UNSOUND_MAX):
        outcome = forked.ask(module, text, tests, timeout=TIMEOUT, cpu=cpu, without=kills.unsound)
        by = forked.last
        if outcome is not Outcome.FAILED:
            return Verdict(mutant, outcome)
        if forked.passes([by], timeout=TIMEOUT):
            return Verdict(mutant, outcome, by)
        kills.unsound.add(by)
    return Verdict(mutant, Outcome.NO_TESTS)


def _imported(mutant: Mutant) -> Verdict:
    """Import the package with a mutant that cannot be tried in a process that has it already."""
    text = mutated((SOURCE / mutant.module).read_text(), mutant)
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder))
        outcome = sandbox.ask(mutant.module, text, near(mutant.module), timeout=TIMEOUT)
    return Verdict(mutant, outcome)


def wider(module: Path) -> list[str]:
    """What is asked about a mutant of a module that the tests of its line do not notice."""
    part = module.relative_to("openmsmq").as_posix()
    found = (tests for start, tests in WIDER.items() if part.startswith(f"{start}/"))
    return list(next(found, (SIMULATOR,)))


def near(module: Path) -> list[str]:
    """The tests of a module, then those of its folder."""
    own = tests_of(module).removesuffix("::")
    others = sorted((ROOT / own).parent.glob("test_*.py"))
    return list(dict.fromkeys([own, *(str(path.relative_to(ROOT)) for path in others)]))


def main() -> int:
    """Draw mutants, try them, say what survived; 1 if it is too many."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, help="repeats a run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="mutants whose names contain this")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"SEED={seed} repeats this run", flush=True)
    known = equivalent(EQUIVALENT.read_text())
    every = [mutant for mutant in all_mutants() if given.only in mutant.name]
    drawn = random.Random(seed).sample(every, min(given.count, len(every)))  # noqa: S311
    counted = [mutant for mutant in drawn if mutant.name not in known]
    print(f"{len(drawn)} of {len(every)} mutants, {len(drawn) - len(counted)} known as equivalent")
    kills = Kills.read(KILLS)
    verdicts = [verdict for mutant in counted if (verdict := kills.known(mutant))]
    before = {verdict.mutant for verdict in verdicts}
    print(f"{len(verdicts)} were noticed before")
    left = [mutant for mutant in counted if mutant not in before]
    for verdict in try_all(left, measured(left, given.jobs), kills, given.jobs):
        verdicts.append(verdict)
        print(f"{len(verdicts):3}/{len(counted)} {verdict}", flush=True)
        kills.write(KILLS)
    for test in sorted(kills.unsound):
        print(f"fails without any change: {test}")
    survivors = [verdict for verdict in verdicts if not verdict.is_killed]
    for verdict in survivors:
        print(verdict)
    killed = len(verdicts) - len(survivors)
    share = killed / len(verdicts) if verdicts else 1.0
    print(f"{killed} of {len(verdicts)} killed: {share:.1%}; {BAR:.0%} are asked for (SEED={seed})")
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
