"""Platforms that cannot keep queues."""

from __future__ import annotations

import sys
import time

import pytest

from openmsmq.client.embedded.platform import require_platform
from openmsmq.errors import UnsupportedOperation


def test_a_posix_system_can_keep_queues() -> None:
    require_platform()


def test_an_error_names_all_that_a_platform_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(time, "CLOCK_MONOTONIC")
    with pytest.raises(UnsupportedOperation, match=r"fcntl, time\.CLOCK_MONOTONIC.*connect\(\)"):
        require_platform()
