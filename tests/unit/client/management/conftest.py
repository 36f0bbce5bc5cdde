"""A manager elsewhere, with an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.remote_read.managers import RemoteManager, remote_manager


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    with remote_manager(tmp_path, is_mapped=True) as made:
        made.users.add("root", "secret", "admin")
        yield made
