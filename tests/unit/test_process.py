"""The name of a process, and what it has opened."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from openmsmq import process
from openmsmq.process import opened_elsewhere, this_process


def test_a_program_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/\udcff\n\ud800café"])
    assert this_process() == f"???café (process {os.getpid()})"


def test_the_error_of_a_forked_child_names_both_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    said = str(opened_elsewhere(5))
    assert "process 5 has opened this queue manager, and process 7 was forked from it" in said


def test_a_process_that_may_not_have_the_memory_goes_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "MEMORY_KEPT", 1 << 62)
    process.keep_memory.__wrapped__()


USE = """
import resource
from openmsmq.process import keep_memory

keep_memory()
for _ in range(50):
    blocks = [bytearray(1 << 20) for _ in range(4)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have other ways")
def test_memory_that_is_given_back_is_used_again() -> None:
    """Without it, each block takes new pages: 50,000 of them."""
    ran = subprocess.run([sys.executable, "-c", USE], capture_output=True, check=True, text=True)
    assert int(ran.stdout) < 15_000
