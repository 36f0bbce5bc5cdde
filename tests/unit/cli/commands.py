"""Running commands in tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.client.services import Service

import openmsmq
from openmsmq import Message
from openmsmq.cli.main import main

VARIABLES = tuple(f"OPENMSMQ_{name}" for name in ("DATA", "MANAGER", "TOKEN", "TLS_CA", "CONTEXT"))


def forget_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands find no queue manager but those that are named, and no service by chance."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    monkeypatch.setattr("openmsmq.cli.options.SERVICE", "unix:/nowhere/app")


@dataclass(frozen=True)
class Cli:
    """The command line, with `--data` for a directory of its own."""

    directory: Path

    @property
    def place(self) -> tuple[str, str]:
        """What stands before each command."""
        return "--data", str(self.directory)

    def __call__(self, *arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Result:
        """Run a command, which must exit with `code`."""
        result = CliRunner().invoke(
            main, [*self.place, *arguments], input=stdin, catch_exceptions=False
        )
        assert result.exit_code == code, result.output
        return result

    def lines(self, *arguments: str, stdin: str | bytes | None = None) -> list[str]:
        """What a command prints."""
        return self(*arguments, stdin=stdin).stdout.splitlines()

    def objects(
        self, *arguments: str, code: int = 0, stdin: str | bytes | None = None
    ) -> list[dict[str, Any]]:
        """What a command prints with `--json`."""
        output = self(*arguments, "--json", code=code, stdin=stdin).stdout
        return [json.loads(line) for line in output.splitlines()]

    def open(self) -> openmsmq.Manager:
        """The manager the commands work on."""
        return openmsmq.open(self.directory)

    @property
    def is_new(self) -> bool:
        """Nothing was made or changed."""
        return not self.directory.exists()

    def fill(self, name: str, *messages: Message | bytes, transactional: bool = False) -> None:
        """A new queue with messages in it."""
        with self.open() as manager:
            queue = manager.create_queue(name, transactional=transactional)
            if transactional:
                with manager.transaction() as transaction:
                    queue.send_many(messages, transaction=transaction)
            else:
                queue.send_many(messages)

    def bodies(self, name: str) -> list[bytes]:
        """What is in a queue."""
        with self.open() as manager:
            found = manager.open_queue(name).peek_many(1_000_000, timeout=0)
        return [message.body for message in found]


@dataclass(frozen=True)
class ServiceCli(Cli):
    """The command line, with `--manager` for a service of its own."""

    service: Service

    @property
    def place(self) -> tuple[str, str]:
        return "--manager", self.service.address

    def open(self) -> openmsmq.Manager:
        return openmsmq.connect(self.service.address)

    @property
    def is_new(self) -> bool:
        with self.open() as manager:
            return not manager.queues()
