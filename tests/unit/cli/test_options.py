"""What commands share."""

from __future__ import annotations

import errno
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from tests.unit.cli.commands import Cli

from openmsmq.cli.main import main
from openmsmq.cli.options import Commands, Location, describe
from openmsmq.errors import QueueNotFound, ReceiveTimeout, StorageFull, StoreMissing


def failing(error: BaseException) -> Result:
    """A command that ends so."""

    @click.group(cls=Commands)
    def group() -> None:
        pass

    @group.command()
    def fail() -> None:
        raise error

    return CliRunner().invoke(group, ["fail"])


def test_a_refusal_has_its_name_its_code_and_words() -> None:
    result = failing(QueueNotFound("orders"))
    assert result.exit_code == 1
    assert result.stderr.startswith("openmsmq: QueueNotFound (0xC00E0003): ")
    assert result.stderr.endswith(": orders\n")
    assert result.stdout == ""


def test_an_error_without_detail_ends_with_its_words() -> None:
    assert describe(StorageFull()).endswith("try again.")


def test_nothing_in_time_is_an_exit_code_of_its_own() -> None:
    result = failing(ReceiveTimeout("orders"))
    assert result.exit_code == 3
    assert "ReceiveTimeout (0xC00E001B)" in result.stderr


def test_nothing_in_an_error_commands_the_terminal() -> None:
    assert "\x1b" not in failing(QueueNotFound("\x1b[2J")).stderr


def test_an_interruption_is_silent() -> None:
    result = failing(KeyboardInterrupt())
    assert (result.exit_code, result.output) == (130, "")


def test_a_reader_that_had_enough_is_no_reason_for_words() -> None:
    result = failing(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert (result.exit_code, result.output) == (1, "")


def test_output_that_cannot_be_written_is_said() -> None:
    result = failing(OSError(errno.ENOSPC, "No space left on device"))
    assert result.exit_code == 1
    assert result.stderr == "openmsmq: [Errno 28] No space left on device\n"


def test_a_mistake_of_our_own_is_not_hidden() -> None:
    assert isinstance(failing(AssertionError("a mistake")).exception, AssertionError)


def test_a_directory_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENMSMQ_DATA", raising=False)
    result = CliRunner().invoke(main, ["queue", "list"])
    assert result.exit_code == 2
    assert "--data DIR" in result.stderr
    assert "OPENMSMQ_DATA" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("queue", "list"),
        ("queue", "show", "orders"),
        ("message", "send", "orders"),
        ("message", "receive", "orders"),
        ("transaction", "list"),
    ],
    ids=" ".join,
)
def test_only_what_makes_queues_makes_a_store(cli: Cli, arguments: tuple[str, ...]) -> None:
    result = cli(*arguments, code=1)
    assert "StoreMissing (0xC00E002A)" in result.stderr
    assert f"openmsmq queue create NAME --data {cli.directory}" in result.stderr
    assert not cli.directory.exists()


def test_an_empty_directory_has_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        Location(tmp_path).open()
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_use_is_said_with_its_holder(cli: Cli) -> None:
    with cli.open():
        result = cli("queue", "list", code=1)
    assert "StoreInUse" in result.stderr
    assert "by process" in result.stderr


def completions(cli: Cli, incomplete: str, *words: str) -> list[str]:
    shell = ShellComplete(main, {}, "openmsmq", "_OPENMSMQ_COMPLETE")
    return [item.value for item in shell.get_completions(list(words), incomplete)]


def test_names_of_queues_are_completed(cli: Cli) -> None:
    for name in ("orders", "Orders2", "bills", r".\public"):
        cli("queue", "create", name)
    data = ("--data", str(cli.directory))
    assert completions(cli, "or", *data, "queue", "show") == ["orders", "Orders2"]
    assert completions(cli, "b", "message", "peek", *data) == ["bills"]
    assert completions(cli, ".", *data, "queue", "show") == [r".\public"]


def test_nothing_is_completed_where_there_is_nothing(cli: Cli) -> None:
    assert completions(cli, "o", "queue", "show") == []
    assert completions(cli, "o", "queue", "show", "--data", str(cli.directory)) == []
    with cli.open() as manager:
        manager.create_queue("orders")
        assert completions(cli, "o", "queue", "show", "--data", str(cli.directory)) == []


def test_commands_are_completed(cli: Cli) -> None:
    assert completions(cli, "de") == ["decode"]
    assert completions(cli, "re", "message") == ["receive"]
