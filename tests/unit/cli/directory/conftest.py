"""An LDAP server in a thread, and commands that are run on it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.directories import example
from tests.ldap_server import PASSWORD, USER, LdapServer

from openmsmq.cli.main import main


class Directory:
    """Runs commands on a directory."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = LdapServer(asyncio.run(example()))
        self.run(self.server.__aenter__())
        self.password = folder / "password"
        self.password.write_text(f"{PASSWORD}\n")

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def close(self) -> None:
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    def __call__(self, *arguments: str, code: int = 0) -> Result:
        place = ("-D", self.server.url, "--auth", "ntlm", "--user", USER)
        login = ("--password-file", str(self.password))
        done = CliRunner().invoke(main, ["directory", *arguments, *place, *login])
        assert done.exit_code == code, done.output
        return done

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Directory]:
    made = Directory(tmp_path)
    yield made
    made.close()
