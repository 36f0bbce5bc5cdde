"""The name of a process."""

from __future__ import annotations

import os

import pytest

from openmsmq.manager.process import this_process


def test_a_program_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/\udcff\n\ud800café"])
    assert this_process() == f"???café (process {os.getpid()})"
