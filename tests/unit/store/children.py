"""Code that runs in a process of its own, since its failure could be a signal."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that runs `code`; pipes go to and from it."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def run(code: str, *arguments: object) -> list[str]:
    """The lines it printed, if it ended well."""
    with start(code, *arguments) as child:
        out, err = child.communicate(timeout=60)
    assert child.returncode == 0, f"ended with {child.returncode}\n{out[-2000:]}\n{err[-2000:]}"
    return out.splitlines()
