"""The name of a process, and what it has opened."""

from __future__ import annotations

import os

import pytest

from openmsmq.process import opened_elsewhere, this_process


def test_a_program_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/\udcff\n\ud800café"])
    assert this_process() == f"???café (process {os.getpid()})"


def test_the_error_of_a_forked_child_names_both_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    said = str(opened_elsewhere(5))
    assert "process 5 has opened this queue manager, and process 7 was forked from it" in said
