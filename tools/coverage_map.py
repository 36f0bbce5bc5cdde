"""Which tests run which lines: of all tests that take no long, with one run under coverage."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from coverage import CoverageData

from tools.sandbox import ROOT

PACKAGES: Final = ("engine", "transports", "store")
"What is measured: the engine, the sessions, the store."
TESTS: Final = tuple(f"tests/unit/{package}" for package in PACKAGES)
"Their own tests: with those that go through the whole product, measuring took half an hour."
QUICK: Final = "not slow and not torture and not acceptance"
"The marks of tests that are asked."
FOLDER: Final = ROOT / "build" / "mutants"

Lines = Mapping[int, frozenset[str]]
"The node ids of the tests that run each line."


def coverage_map(jobs: int, tests: Sequence[str] = TESTS) -> dict[Path, Lines]:
    """The tests of each line of each module, measured unless nothing has changed since."""
    data_file = FOLDER / f"{_state(tests)}.coverage"
    if not data_file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        measure(data_file, jobs, tests)
    return read(data_file)


def measure(data_file: Path, jobs: int, tests: Sequence[str]) -> None:
    """Run the tests, and write down what each of them runs."""
    settings = FOLDER / "coveragerc"
    packages = "".join(f"\n    openmsmq.{package}" for package in PACKAGES)
    settings.write_text(f"[run]\ndata_file = {data_file}\nsource_pkgs ={packages}\n")
    options = ("-q", "-m", QUICK, "-n", str(jobs), "--tb=short")
    coverage = ("--cov", "--cov-report=", "--cov-context=test", f"--cov-config={settings}")
    # A test that only fails when it is measured is no reason to stop: the others are there.
    subprocess.run(  # noqa: S603  # our own interpreter
        [sys.executable, "-m", "pytest", *options, *coverage, *tests], cwd=ROOT, check=False
    )


def read(data_file: Path) -> dict[Path, Lines]:
    """What a run has written down, by module: `openmsmq/engine/queues/queue.py`."""
    data = CoverageData(str(data_file))
    data.read()
    found: dict[Path, Lines] = {}
    for file in data.measured_files():
        parts = Path(file).parts
        module = Path(*parts[len(parts) - 1 - parts[::-1].index("openmsmq") :])
        found[module] = {
            line: frozenset(_node_id(context) for context in contexts if context)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
    return found


def chosen(tests: Iterable[str], module: Path, most: int) -> list[str]:
    """The tests to ask about a line: first those of its module, then those nearest to it."""
    own, near = tests_of(module), tests_of(module).rpartition("test_")[0]

    def distance(test: str) -> tuple[int, str]:
        if test.startswith(own):
            return 0, test
        if test.startswith(near):
            return 1, test
        return (2 if test.startswith("tests/unit/") else 3), test

    by_distance: dict[int, list[str]] = defaultdict(list)
    for place, test in sorted(map(distance, tests)):
        by_distance[place].append(test)
    # The last kind, which asks for all inputs, notices what nobody thought of: some of it is asked.
    last = by_distance[3][: most // 4]
    others = [test for place in range(3) for test in by_distance[place]]
    return [*others[: most - len(last)], *last]


def tests_of(module: Path) -> str:
    """What the node ids of a module's own tests begin with."""
    *folders, name = module.parts[1:]
    return "/".join(("tests/unit", *folders, f"test_{name}::"))


def _node_id(context: str) -> str:
    return context.rpartition("|")[0] or context


def _state(tests: Sequence[str]) -> str:
    """A name for sources and tests as they are now."""
    digest = hashlib.sha256(" ".join(tests).encode())
    for folder in ("src", *tests):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]
