"""Tests that are collected once and asked about many changes: a child is forked for each.

Quicker by far than a process for each question (`tools.sandbox`), which imports and collects all
anew. It cannot show changes outside of functions, nor in processes that tests start.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, Self

from tools import fork_plugin
from tools.fork_plugin import CONNECTION, Answer, Question, Text
from tools.sandbox import ROOT, SOURCE, Outcome

_OUTCOMES: Final = {
    fork_plugin.PASSED: Outcome.PASSED,
    fork_plugin.FAILED: Outcome.FAILED,
    fork_plugin.UNCHANGEABLE: Outcome.STOPPED,
    fork_plugin.NO_TESTS: Outcome.NO_TESTS,
    fork_plugin.TIMEOUT: Outcome.TIMEOUT,
}


class ForkedTests:
    """A process of pytest that answers questions about the tests it has collected."""

    def __init__(self, paths: Sequence[str], marks: str = "", *, profile: str = "default") -> None:
        """`profile` says how many examples are tried of what is tried with any."""
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")
        folder = Path(self._folder.name)
        (folder / "tests.txt").write_text("\n".join(paths))
        ours, theirs = socket.socketpair()
        options = (
            "-q",
            "-n0",
            "--no-header",
            "--tb=no",
            "-m",
            marks,
            "--basetemp",
            str(folder / "tests"),
        )
        plugins = ("tools.fork_plugin", "no:randomly", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *options, *(f"-p{name}" for name in plugins)]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter
                [*command, "-o", "tmp_path_retention_policy=none", f"@{folder / 'tests.txt'}"],
                cwd=ROOT,
                env={
                    **os.environ,
                    CONNECTION: str(theirs.fileno()),
                    "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
                    "HYPOTHESIS_PROFILE": profile,
                },
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._connection = Connection(ours.detach())
        self.last = ""
        "The test that noticed the last change, or ran last."
        try:
            self.count: int = self._connection.recv()
        except EOFError:
            self.close()
            raise RuntimeError(f"pytest cannot collect {' '.join(paths)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.wait()
        self._folder.cleanup()

    def ask(
        self,
        module: Path,
        text: str,
        tests: Sequence[str],
        *,
        timeout: float,
        cpu: float = inf,
        without: Iterable[str] = (),
    ) -> Outcome:
        """What tests say about another text of a module: `FAILED` if they notice it.

        `STOPPED`: the text cannot be tried this way. After `cpu` seconds of the processor no
        further test begins; tests whose ids are in `without` are left out. A test that does not
        end in time is asked whether it would without the change.
        """
        name = ".".join(module.with_suffix("").parts)
        other = Text(str(SOURCE / module), name, text)
        outcome = self._asked(Question(tuple(tests), timeout, other, cpu, frozenset(without)))
        if outcome is Outcome.TIMEOUT:
            ends = self.passes([self.last], timeout=timeout)
            return Outcome.FAILED if ends else Outcome.NO_TESTS
        return outcome

    def passes(self, tests: Sequence[str], *, timeout: float) -> bool:
        """Whether tests pass without any change: else they say nothing about one."""
        return self._asked(Question(tuple(tests), timeout)) is Outcome.PASSED

    def _asked(self, question: Question) -> Outcome:
        self._connection.send(question)
        answer: Answer = self._connection.recv()
        self.last = answer.test
        return _OUTCOMES[answer.code]
