"""What commands share."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from tests.certificates import make_certificates
from tests.unit.cli.commands import Cli, ServiceCli
from tests.unit.client.services import Service

from openmsmq.access.tokens import Tokens
from openmsmq.cli.main import main
from openmsmq.cli.options import Commands, ManagerLocation, describe
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


def test_a_misspelled_queue_name_is_answered_with_the_nearest_one(cli: Cli) -> None:
    cli("queue", "create", "Orders")
    cli("queue", "create", "offers")
    assert "did you mean Orders?" in cli("message", "peek", "ordesr", code=1).stderr
    assert "did you mean" not in cli("message", "peek", "invoices", code=1).stderr


def test_a_misspelled_queue_name_of_a_service_is_answered_likewise(served: ServiceCli) -> None:
    served("queue", "create", "orders")
    assert "did you mean orders?" in served("queue", "show", "order", code=1).stderr


def test_a_directory_in_use_points_to_the_service(cli: Cli) -> None:
    cli("queue", "create", "orders")
    with cli.open():
        result = cli("queue", "list", code=1)
    assert "StoreInUse" in result.stderr
    assert "If that is a service, connect to it with --manager HOST:PORT" in result.stderr


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


def run(*arguments: str, code: int = 0, **environment: str) -> Result:
    """A command, without any options before it."""
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == code, result.output
    return result


def test_without_a_word_a_service_on_this_computer_is_meant() -> None:
    result = run("queue", "list", code=1)
    assert "ServiceNotAvailable (0xC00E000B)" in result.stderr
    assert "unix:/nowhere/app: No such file" in result.stderr  # as the tests have it
    assert "`openmsmq serve` runs a service; --data DIR works in a directory" in result.stderr
    assert "127.0.0.1:1811 if no directory is named" in " ".join(run("--help").output.split())


def test_a_service_is_named_in_three_places(served: ServiceCli) -> None:
    place = served.service.address
    served("queue", "create", "orders")
    assert "orders" in run("--manager", place, "queue", "list").output
    assert "orders" in run("queue", "list", "--manager", place).output
    assert "orders" in run("queue", "list", OPENMSMQ_MANAGER=place).output


def test_the_command_line_counts_for_more_than_the_environment(
    served: ServiceCli, tmp_path: Path
) -> None:
    place, data = served.service.address, str(tmp_path / "other")
    run("queue", "create", "here", "--data", data, OPENMSMQ_MANAGER=place)
    served("queue", "create", "there")
    named: dict[str, Any] = {"OPENMSMQ_MANAGER": place, "OPENMSMQ_DATA": data}
    assert "there" in run("queue", "list", **named).output  # a service first
    assert "here" in run("--data", data, "queue", "list", **named).output
    assert "there" in run("queue", "list", "--manager", place, OPENMSMQ_DATA=data).output
    assert "here" in run("queue", "list", OPENMSMQ_DATA=data).output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--data", "d", "queue", "list", "--manager", "host"),
        ("queue", "list", "--manager", "host", "--data", "d"),
        ("--data", "d", "--manager", "host", "queue", "list"),
    ],
    ids=" ".join,
)
def test_a_directory_and_a_service_are_one_too_many(arguments: tuple[str, ...]) -> None:
    assert "give one of them" in run(*arguments, code=2).stderr


@pytest.mark.parametrize("place", ["host:port", "", "::1", "unix:"])
def test_what_is_no_address_is_wrong_usage(place: str) -> None:
    if place:
        assert (
            "HOST, HOST:PORT or unix:PATH"
            in run("queue", "list", "--manager", place, code=2).stderr
        )
    else:
        run("queue", "list", OPENMSMQ_MANAGER=place, code=1)


def test_a_token_is_for_services(served: ServiceCli, tmp_path: Path) -> None:
    data = str(tmp_path / "other")
    given = ("queue", "create", "orders", "--data", data)
    assert "for a service" in run(*given, "--token", "omq_x", code=2).stderr
    run(*given, OPENMSMQ_TOKEN="omq_x")  # which is for another command
    _, token = Tokens.load(served.directory).create("read", ())
    served("queue", "list", "--token", token)
    assert "AccessDenied" in served("--token", token, "queue", "create", "new", code=1).stderr
    wrong = run("queue", "list", "--manager", served.service.address, code=1, OPENMSMQ_TOKEN="x")
    assert wrong.stderr.startswith("openmsmq: TokenRefused (0xC00E0025): The token was rejected")
    assert "openmsmq token create" in wrong.stderr
    assert "the token is missing, wrong or has expired" in wrong.stderr
    assert token not in repr(ManagerLocation(None, "host", token))


def test_a_service_is_reached_through_tls(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    service = Service(tmp_path / "data", tls=context)
    try:
        place, ca = ("--manager", service.address), str(tmp_path / "ca.pem")
        run("queue", "create", "orders", *place, "--tls-ca", ca)
        assert "orders" in run("queue", "list", *place, OPENMSMQ_TLS_CA=ca).output
        run("queue", "list", *place, "--tls-ca", str(tmp_path / "none.pem"), code=2)
    finally:
        service.close()


@pytest.mark.parametrize("command", ["check", "compact", "token list"])
def test_some_commands_work_on_a_directory_only(command: str) -> None:
    words = command.split()
    assert "Give --data DIR or set OPENMSMQ_DATA" in run(*words, code=2).stderr
    assert "Give --data DIR" in run(*words, OPENMSMQ_MANAGER="host", code=2).stderr
    assert "give --data DIR" in run("--manager", "host", *words, code=2).stderr
    assert "No such option" in run(*words, "--manager", "host", code=2).stderr


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
        ManagerLocation(tmp_path).open()
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


def test_names_of_a_services_queues_are_completed(served: ServiceCli) -> None:
    served("queue", "create", "orders")
    place = ("--manager", served.service.address)
    assert completions(served, "o", *place, "queue", "show") == ["orders"]
    assert completions(served, "o", "message", "peek", *place) == ["orders"]
    assert completions(served, "o", *place, "queue", "show", "--data", "d") == []


def test_names_of_outgoing_queues_are_completed(cli: Cli) -> None:
    name = r"DIRECT=OS:office\private$\orders"
    cli("queue", "create", "own")
    with cli.open() as manager, manager.open_queue(name) as queue:
        queue.send("x")
    data = ("--data", str(cli.directory))
    assert completions(cli, "direct=", *data, "outgoing", "retry") == [name]
    assert completions(cli, "", *data, "outgoing", "show") == [name]
    assert completions(cli, "x", *data, "outgoing", "pause") == []


def test_commands_are_completed(cli: Cli) -> None:
    assert completions(cli, "dec") == ["decode"]
    assert completions(cli, "re", "message") == ["receive", "redirect", "return"]
