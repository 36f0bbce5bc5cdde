"""`openmsmq explain --everywhere`: one question to all managers that have a name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import openmsmq
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow


def test_all_managers_with_a_name_are_asked_and_one_that_is_down_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "openmsmq", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    managers = [ManagerProcess(tmp_path, name) for name in ("shop", "office")]
    try:
        for number, one in enumerate(managers):
            one.start()
            with openmsmq.connect(one.app) as manager:
                manager.create_queue("orders").send(b"x", label=f"order {number}")
            assert run("context", "add", one.name, "--manager", one.app).returncode == 0
        run("context", "add", "gone", "--manager", "127.0.0.1:9")
        found = run("explain", "--label", "order *", "--everywhere", "--json")
        events = [json.loads(line) for line in found.stdout.splitlines()]
        assert {(event["manager"], event["event"]) for event in events} == {
            ("shop", "arrived"),
            ("office", "arrived"),
        }
        assert "gone cannot be asked" in found.stderr
        assert found.returncode == 0
    finally:
        for one in managers:
            one.kill()
