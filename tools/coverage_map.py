"""Which tests run which lines of which functions, and how long each takes.

It is measured under coverage once and kept in `build/mutants`: later only test files that have
changed are measured again. Lines are counted from the beginning of their function, so that a change
elsewhere in a module moves none of them; all tests of a function that has changed itself are asked.
"""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from coverage import CoverageData

from tools.sandbox import ROOT, SOURCE

PACKAGES: Final = ("engine", "transports", "store")
"What is measured: the engine, the sessions, the store."
TESTS: Final = (
    *(f"tests/unit/{package}" for package in (*PACKAGES, "runtime", "app_server")),
    "tests/hostile",
)
"Their own tests and those of what calls them; to measure models takes longer than all of these."
QUICK: Final = "not slow and not torture and not acceptance and not extra"
"The marks of tests that are asked."
MAP: Final = ROOT / "build" / "mutants" / "tests.pickle"
BEFORE: Final = -1
"The line of tests that ran a function before it changed."


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a function in a text."""

    name: str
    "`Queue.open`"
    first: int
    last: int
    digest: str


@dataclass(slots=True)
class Covered:
    """The tests that run each line of a function, counted from its first."""

    digest: str
    "Of the text that was measured."
    lines: dict[int, set[str]] = field(default_factory=dict)

    def tests(self, line: int, digest: str) -> set[str]:
        """Those of a line, or of all lines if it was not measured or is no longer the same."""
        if digest == self.digest and line in self.lines:
            return self.lines[line] | self.lines.get(BEFORE, set())
        return set(chain.from_iterable(self.lines.values()))


@dataclass(slots=True)
class CoverageMap:
    """What was measured."""

    files: dict[str, str] = field(default_factory=dict)
    "The digests of test files."
    seconds: dict[str, float] = field(default_factory=dict)
    "How long each test took."
    functions: dict[tuple[Path, str], Covered] = field(default_factory=dict)
    "By module, `openmsmq/engine/queues/queue.py`, and name."

    def tests(self, module: Path, line: int) -> set[str]:
        """The node ids of tests that run a line of a module as it is now."""
        span = span_at(spans((SOURCE / module).read_text()), line)
        if span is None or (module, span.name) not in self.functions:
            return set()
        return self.functions[module, span.name].tests(line - span.first, span.digest)

    def forget(self, files: Iterable[str]) -> None:
        """Strike the tests of some files."""
        gone = {test for test in self.seconds if test.partition("::")[0] in set(files)}
        for test in gone:
            del self.seconds[test]
        for covered in self.functions.values():
            for tests in covered.lines.values():
                tests -= gone

    def add(self, data: CoverageData, source: Path = SOURCE) -> None:
        """Take in what a run has measured."""
        for file in data.measured_files():
            parts = Path(file).parts
            module = Path(*parts[len(parts) - 1 - parts[::-1].index("openmsmq") :])
            found = spans((source / module).read_text())
            for line, contexts in data.contexts_by_lineno(file).items():
                span = span_at(found, line)
                tests = {context.rpartition("|")[0] for context in contexts if context}
                if span is not None and tests:
                    lines = self._covered(module, span).lines
                    lines.setdefault(line - span.first, set()).update(tests)

    def _covered(self, module: Path, span: Span) -> Covered:
        covered = self.functions.get((module, span.name))
        if covered is not None and covered.digest == span.digest:
            return covered
        before = set(chain.from_iterable(covered.lines.values())) if covered else set()
        new = self.functions[module, span.name] = Covered(span.digest, {BEFORE: before})
        return new


def coverage_map(jobs: int, tests: Sequence[str] = TESTS, kept: Path = MAP) -> CoverageMap:
    """The tests of each line, measured where test files have changed since the last time."""
    known = pickle.loads(kept.read_bytes()) if kept.exists() else CoverageMap()  # noqa: S301  # ours
    assert isinstance(known, CoverageMap)
    now = {str(path.relative_to(ROOT)): _digest(path.read_text()) for path in _files(tests)}
    changed = [file for file, digest in now.items() if known.files.get(file) != digest]
    known.forget([*changed, *(known.files.keys() - now.keys())])
    if changed:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), jobs, changed)
            take_in(known, Path(folder))
    known.files = now
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(known))
    return known


def measure(folder: Path, jobs: int, tests: Sequence[str]) -> None:
    """Run tests, and write down what each of them runs."""
    packages = "".join(f"\n    openmsmq.{package}" for package in PACKAGES)
    settings, files = folder / "coveragerc", folder / "tests.txt"
    settings.write_text(f"[run]\ndata_file = {folder / 'coverage'}\nsource_pkgs ={packages}\n")
    files.write_text("\n".join(tests))
    options = ("-q", "-m", QUICK, "-n", str(jobs), "--tb=short", "-o", "junit_family=xunit1")
    coverage = ("--cov", "--cov-report=", "--cov-context=test", f"--cov-config={settings}")
    # A test that only fails when it is measured is no reason to stop: the others are there.
    subprocess.run(  # noqa: S603  # our own interpreter
        [
            *(sys.executable, "-m", "pytest", *options, *coverage),
            *(f"--junitxml={folder / 'times.xml'}", f"@{files}"),
        ],
        cwd=ROOT,
        env={**os.environ, "HYPOTHESIS_PROFILE": "quick"},
        check=False,
    )


def take_in(known: CoverageMap, folder: Path) -> None:
    """Read what was written down."""
    for case in ElementTree.parse(folder / "times.xml").iter("testcase"):  # noqa: S314  # ours
        known.seconds[f"{case.get('file')}::{case.get('name')}"] = float(case.get("time", 0))
    data = CoverageData(str(folder / "coverage"))
    data.read()
    known.add(data)


def ordered(tests: Iterable[str], module: Path, seconds: dict[str, float]) -> list[str]:
    """Tests in the order to ask them: those of the module, of its folder, others; quick ones first.

    Quick ones of others come before those of the folder that take long.
    """
    own, near = tests_of(module), tests_of(module).rpartition("test_")[0]

    def cost(test: str) -> tuple[float, str]:
        farther = 1 if test.startswith(own) else 4 if test.startswith(near) else 16
        return farther * (seconds.get(test, 0.0) + 0.002), test

    return sorted(tests, key=cost)


def tests_of(module: Path) -> str:
    """What the node ids of a module's own tests begin with."""
    *folders, name = module.parts[1:]
    return "/".join(("tests/unit", *folders, f"test_{name}::"))


def spans(text: str) -> list[Span]:
    """The functions of a module, from outer to inner ones."""
    lines = text.splitlines()
    return list(_spans(ast.parse(text), lines))


def _spans(node: ast.AST, lines: list[str], before: str = "") -> Iterator[Span]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name, first, last = before + child.name, child.lineno, child.end_lineno
            assert last is not None
            if not isinstance(child, ast.ClassDef):
                yield Span(name, first, last, _digest("\n".join(lines[first - 1 : last])))
            yield from _spans(child, lines, f"{name}.")
        else:
            yield from _spans(child, lines, before)


def span_at(found: Iterable[Span], line: int) -> Span | None:
    """The innermost function around a line."""
    around = [span for span in found if span.first <= line <= span.last]
    return around[-1] if around else None


def _files(tests: Iterable[str]) -> Iterator[Path]:
    for folder in tests:
        yield from sorted((ROOT / folder).rglob("test_*.py"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
