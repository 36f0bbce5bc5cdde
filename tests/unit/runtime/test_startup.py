"""A directory becomes a queue manager, for one process at a time."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from openmsmq.clock import SystemClock
from openmsmq.errors import StoreInUse
from openmsmq.runtime import startup
from openmsmq.runtime.startup import open_directory
from openmsmq.transports.receipts import RECEIPTS


def test_a_directory_is_made_and_named_after_the_host(tmp_path: Path) -> None:
    """DMPR-373"""
    manager = open_directory(tmp_path / "a" / "b", receipts=RECEIPTS)
    assert manager.name == socket.gethostname()
    assert list(manager.queues) == []
    assert manager.settings.quota is None
    manager.store.close()


def test_it_keeps_its_identity_and_may_be_given_a_name_and_a_quota(tmp_path: Path) -> None:
    """DMPR-004."""
    first = open_directory(str(tmp_path), "one", receipts=RECEIPTS)
    first.store.close()
    second = open_directory(tmp_path, "two", 7, receipts=RECEIPTS)
    assert (second.name, second.settings.quota) == ("two", 7)
    assert second.identity == first.identity
    second.store.close()


def test_a_second_opener_learns_who_has_the_directory(tmp_path: Path) -> None:
    manager = open_directory(tmp_path, receipts=RECEIPTS)
    with pytest.raises(StoreInUse) as info:
        open_directory(tmp_path, receipts=RECEIPTS)
    assert info.value.hresult == 0xC00E0009
    assert f"process {os.getpid()} on {socket.gethostname()}" in str(info.value)
    manager.store.close()
    open_directory(tmp_path, receipts=RECEIPTS).store.close()


def test_a_host_without_a_name_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DMPR-372: and the directory is free for the next one."""

    def fail() -> str:
        raise OSError("no name today")

    with monkeypatch.context() as broken:
        broken.setattr(startup, "socket", SimpleNamespace(gethostname=fail))
        with pytest.raises(OSError, match="no name today"):
            open_directory(tmp_path, receipts=RECEIPTS)
    open_directory(tmp_path, receipts=RECEIPTS).store.close()


def test_a_directory_is_released_when_opening_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(clock: SystemClock) -> None:
        raise RuntimeError("no identifiers today")

    with monkeypatch.context() as broken:
        broken.setattr(SystemClock, "new_guid", fail)
        with pytest.raises(RuntimeError):
            open_directory(tmp_path, receipts=RECEIPTS)
    open_directory(tmp_path, receipts=RECEIPTS).store.close()
