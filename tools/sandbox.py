"""A copy of the package that can be broken on purpose, and tests that run on it.

The checkout itself is never changed: tests of the checkout import the copy by `PYTHONPATH`.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
_FAILED: Final = 1
_STOPPED: Final = (2, 3, 4)
"What pytest answers if a module cannot be imported, or if it fails itself."


class Outcome(StrEnum):
    """What the tests said about a change."""

    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    "The tests could not be found or run at all."
    NO_TESTS = "no tests"


class Sandbox:
    """A copy of `src` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.source = directory / "src"
        self._arguments = directory / "tests.txt"
        self._hypothesis = directory / "hypothesis"
        shutil.copytree(SOURCE, self.source)  # with what was compiled, which saves seconds a run

    @contextmanager
    def changed(self, module: Path, text: str) -> Iterator[None]:
        """Let a module, `openmsmq/engine/queues/queue.py`, have another text for a while."""
        target = self.source / module
        before = target.read_text()
        # Python looks at size and time of a source before it takes what it compiled earlier.
        Path(cache_from_source(str(target))).unlink(missing_ok=True)
        try:
            target.write_text(text)
            yield
        finally:
            target.write_text(before)

    def run(self, tests: Iterable[str], *, timeout: float) -> Outcome:
        """Run tests, by their node ids, until one of them fails."""
        self._arguments.write_text("\n".join(tests))
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._hypothesis),
        }
        options = ("-x", "-q", "--no-header", "--tb=no", "-p", "no:randomly")
        command = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider"]
        process = subprocess.Popen(  # noqa: S603  # our own interpreter
            [*command, f"@{self._arguments}"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return Outcome.TIMEOUT
        finally:
            _end(process)
        if code in _STOPPED:
            return Outcome.STOPPED
        if code == _FAILED or code < 0:
            return Outcome.FAILED
        return Outcome.PASSED if code == 0 else Outcome.NO_TESTS

    def ask(self, module: Path, text: str, tests: Sequence[str], *, timeout: float) -> Outcome:
        """What tests say about another text of a module: `FAILED` if they notice it.

        A module that cannot be imported stops them, and one that waits for ever makes them late.
        That counts if nothing of the kind happens without the change.
        """
        with self.changed(module, text):
            outcome = self.run(tests, timeout=timeout)
        if outcome in (Outcome.STOPPED, Outcome.TIMEOUT):
            unchanged = self.run(tests, timeout=timeout)
            return Outcome.FAILED if unchanged is Outcome.PASSED else Outcome.NO_TESTS
        return outcome


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those it started, which share its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def without_effect(text: str, name: str) -> str:
    """The text of a module in which a function, `Queue.open`, does nothing.

    Of a class every method does nothing.
    """
    tree = ast.parse(text)
    node = find(tree, name)
    functions = (
        [node]
        if not isinstance(node, ast.ClassDef)
        else [part for part in node.body if isinstance(part, ast.FunctionDef)]
    )
    assert functions, f"{name} has nothing that could do nothing"
    for function in functions:
        _empty(function)
    return ast.unparse(ast.fix_missing_locations(tree))


def find(tree: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    """The function or class with a dotted name."""
    body = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next(
            item
            for item in body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and item.name == part
        )
        body = found.body
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return found


def _empty(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Return before anything is done; a generator stays one, and gives nothing out."""
    function.body.insert(0, ast.Return())
