"""Permissions of a queue through the API, embedded and over a service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.client.adapter import Api

from openmsmq.errors import AccessDenied, InvalidHandle


def test_permissions_are_read_and_set(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        owner = queue.permissions()
        assert owner in ("O:BA", f"O:S-1-22-1-{os.getuid()}"), "over a socket it is who connected"
        queue.set_permissions("D:(A;;DC;;;BA)(A;;LC;;;WD)")
        assert queue.permissions() == f"{owner}D:(A;;DC;;;BA)(A;;LC;;;WD)"
        queue.send("taken")
        with pytest.raises(AccessDenied):
            queue.receive(timeout=0)
        queue.set_permissions("D:NO_ACCESS_CONTROL")
        assert queue.receive(timeout=0).body
        queue.close()
        with pytest.raises(InvalidHandle):
            queue.permissions()
