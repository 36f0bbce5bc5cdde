"""Do the tests notice when the code is wrong? `make mutants`, or `python -m tools.mutants`.

Some mutants of engine, sessions and store are drawn at random, and each is given to the tests that
run its line, and what they do not notice to some that go further: the simulator, and models of
queues, streams, sessions and stores. A mutant that no test notices survives. One that cannot be
noticed, since it does the same, is listed in `equivalent_mutants.txt` with the reason, and does not
count.

To find the tests of a line takes longer than all the rest; with `--near` each mutant is given to
the tests of its module and its folder instead, and what they do not notice to all quick tests of
engine, sessions and store, to the simulator and to the model of queues.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tools.coverage_map import PACKAGES, QUICK, TESTS, Lines, chosen, coverage_map, tests_of
from tools.forked_tests import ForkedTests
from tools.mutation import Mutant, mutants, mutated
from tools.sandbox import ROOT, SOURCE, Outcome, Sandbox

BAR: Final = 0.95
"The share of mutants that has to be noticed."
TESTS_MAX: Final = 1000
"Tests that a mutant is given to, the nearest first."
TIMEOUT: Final = 240.0
"Seconds for them; code that never ends is noticed, too."
SIMULATOR: Final = "tests/simulation/test_simulation.py::test_nothing_goes_wrong"
FAR: Final = (SIMULATOR, *TESTS, "tests/property/test_queues.py")
"Who is asked about what the tests of its folder do not notice."
FAR_TIMEOUT: Final = 900.0
WIDER: Final = {
    "engine": ("queues", "arrivals", "transfer_crashes"),
    "store": ("store", "queues"),
    "transports/mqqb": ("sessions", "transfer_crashes"),
    "transports/peers": ("transfer_crashes",),
    "transports/pgm": ("pgm",),
    "transports/srmp": ("srmp_streams",),
}
"Models in `tests/property` that are asked about what the tests of its line do not notice."
WIDER_MARKS: Final = f"{QUICK} and not extra"
WIDER_TIMEOUT: Final = 60.0
"Seconds for them and the simulator; here it says nothing to be late."
NO_PART: Final = frozenset({Path("openmsmq/transports/pgm/trial.py")})
"A tool that sends to a group and listens to one without a manager: no session that we promise."
EQUIVALENT: Final = Path(__file__).with_name("equivalent_mutants.txt")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    outcome: Outcome
    tests: int

    @property
    def is_killed(self) -> bool:
        """A test has noticed it."""
        return self.outcome is Outcome.FAILED

    def __str__(self) -> str:
        what = "killed  " if self.is_killed else "SURVIVED"
        return f"{what} line {self.mutant.line:3} {self.mutant.name} ({self.tests} tests)"


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


def try_all(drawn: Iterable[Mutant], covered: Mapping[Path, Lines], jobs: int) -> Iterator[Verdict]:
    """Give each mutant to its tests, some at a time."""
    files = sorted({test.partition("::")[0] for test in _tests(covered)}) or list(FAR)
    wide_files = sorted({test for module in modules() for test in wider(module)})
    with ExitStack() as stack:
        free: SimpleQueue[tuple[ForkedTests, ForkedTests | None]] = SimpleQueue()
        for _ in range(jobs):
            forked = stack.enter_context(ForkedTests(files, QUICK))
            wide = ForkedTests(wide_files, WIDER_MARKS, profile="quick") if covered else None
            free.put((forked, wide and stack.enter_context(wide)))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))

        def judge(mutant: Mutant) -> Verdict:
            forked, wide = free.get()
            try:
                verdict = judged(mutant, covered.get(mutant.module, {}), forked)
                return verdict if verdict.is_killed or wide is None else judged_wide(verdict, wide)
            finally:
                free.put((forked, wide))

        yield from pool.map(judge, drawn)


def _tests(covered: Mapping[Path, Lines]) -> Iterator[str]:
    return (test for lines in covered.values() for tests in lines.values() for test in tests)


def judged(mutant: Mutant, lines: Lines, forked: ForkedTests) -> Verdict:
    """Give a mutant to the tests that run its line, or else to those of its module."""
    tests = chosen(lines.get(mutant.line, ()), mutant.module, TESTS_MAX)
    if not tests:  # perhaps a process that a test starts runs it, where nothing is measured
        tests = near(mutant.module)
    text = mutated((SOURCE / mutant.module).read_text(), mutant)
    outcome = forked.ask(mutant.module, text, tests, timeout=TIMEOUT)
    if outcome is Outcome.PASSED and not lines:
        tests = list(FAR)
        outcome = forked.ask(mutant.module, text, tests, timeout=FAR_TIMEOUT)
    if outcome is Outcome.STOPPED:  # the package has to be imported with it
        with tempfile.TemporaryDirectory() as folder:
            sandbox = Sandbox(Path(folder))
            outcome = sandbox.ask(mutant.module, text, tests, timeout=TIMEOUT)
    return Verdict(mutant, outcome, len(tests))


def judged_wide(verdict: Verdict, wide: ForkedTests) -> Verdict:
    """Give a mutant that its tests did not notice to some that go further."""
    mutant, tests = verdict.mutant, wider(verdict.mutant.module)
    text = mutated((SOURCE / mutant.module).read_text(), mutant)
    outcome = wide.ask(mutant.module, text, tests, timeout=WIDER_TIMEOUT, late=Outcome.PASSED)
    noticed = outcome is Outcome.FAILED
    return Verdict(mutant, outcome if noticed else verdict.outcome, verdict.tests + len(tests))


def wider(module: Path) -> list[str]:
    """Models of the part that a module belongs to, and the simulator, which runs most of all."""
    part = module.relative_to("openmsmq").as_posix()
    names = [name for start, some in WIDER.items() if part.startswith(f"{start}/") for name in some]
    return [*(f"tests/property/test_{name}.py" for name in names), SIMULATOR]


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
    parser.add_argument("--near", action="store_true", help="first the tests of the same folder")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="where the tests are")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"SEED={seed} repeats this run", flush=True)
    known = equivalent(EQUIVALENT.read_text())
    every = [mutant for mutant in all_mutants() if given.only in mutant.name]
    drawn = random.Random(seed).sample(every, min(given.count, len(every)))  # noqa: S311
    counted = [mutant for mutant in drawn if mutant.name not in known]
    print(f"{len(drawn)} of {len(every)} mutants, {len(drawn) - len(counted)} known as equivalent")
    covered = {} if given.near else coverage_map(given.jobs, given.tests)
    verdicts = []
    for verdict in try_all(counted, covered, given.jobs):
        verdicts.append(verdict)
        print(f"{len(verdicts):3}/{len(counted)} {verdict}", flush=True)
    survivors = [verdict for verdict in verdicts if not verdict.is_killed]
    for verdict in survivors:
        print(verdict)
    killed = len(verdicts) - len(survivors)
    share = killed / len(verdicts) if verdicts else 1.0
    print(f"{killed} of {len(verdicts)} killed: {share:.1%}; {BAR:.0%} are asked for (SEED={seed})")
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
