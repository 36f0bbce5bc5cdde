"""Running commands in tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import openmsmq
from openmsmq import Message
from openmsmq.cli.main import main


@dataclass(frozen=True)
class Cli:
    """The command line, with `--data` for a directory of its own."""

    directory: Path

    def __call__(self, *arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Result:
        """Run a command, which must exit with `code`."""
        result = CliRunner().invoke(
            main, ["--data", str(self.directory), *arguments], input=stdin, catch_exceptions=False
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
