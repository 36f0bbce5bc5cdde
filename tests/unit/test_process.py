"""The name of a process, and what it has opened."""

from __future__ import annotations

import os

import pytest

from openmsmq.errors import InvalidHandle
from openmsmq.process import OwnerProcess, this_process


def test_a_program_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/\udcff\n\ud800café"])
    assert this_process() == f"???café (process {os.getpid()})"


def test_what_a_process_has_opened_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = OwnerProcess()
    owner.check()
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: 7)
    assert not owner.is_here
    with pytest.raises(InvalidHandle, match=f"process {parent} has opened .* process 7 was forked"):
        owner.check()
