"""`openmsmq context`, and commands that connect by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.commands import ServiceCli

from openmsmq.cli.main import main
from openmsmq.cli.options import ManagerLocation, locate


@pytest.fixture(autouse=True)
def _own_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, arguments, input=stdin, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def listed() -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("context", "list", "--json").stdout.splitlines()]


def located(*arguments: str) -> ManagerLocation:
    """Where a command would connect to."""
    with main.make_context("openmsmq", [*arguments, "queue"]) as root:
        return locate(click.Context(click.Command("list"), parent=root))


def test_contexts_are_added_listed_used_and_removed() -> None:
    assert run("context", "list").stdout == ""
    assert run("context", "add", "shop", "--manager", "shop:1811").stdout == (
        "added shop (shop:1811, in use)\n"
    )
    run("context", "add", "office", "--manager", "office:1811", "--token-stdin", stdin="secret\n")
    assert [(one["name"], one["in_use"], one["has_token"]) for one in listed()] == [
        ("office", False, True),
        ("shop", True, False),
    ]
    assert run("context", "use", "office").stdout == "using office (office:1811)\n"
    assert [one["name"] for one in listed() if one["in_use"]] == ["office"]
    table = run("context", "list").stdout
    assert "secret" not in table
    assert "* office" in " ".join(table.split())
    assert run("context", "remove", "office").stdout == "removed office (office:1811)\n"
    assert [(one["name"], one["in_use"]) for one in listed()] == [("shop", False)]


def test_a_command_connects_to_the_context_in_use(served: ServiceCli) -> None:
    with served.open() as manager:
        manager.create_queue("orders")
    run("context", "add", "here", "--manager", served.service.address)
    assert "orders" in run("queue", "list").stdout
    assert "orders" in run("queue", "list", "--context", "here").stdout
    run("context", "use", "-")
    assert "ServiceNotAvailable" in run("queue", "list", code=1).stderr
    assert "orders" in run("--context", "here", "queue", "list").stdout


def test_what_is_said_counts_more_than_what_is_in_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("context", "add", "shop", "--manager", "shop:1811", "--token", "secret")
    run("context", "add", "office", "--manager", "office:1811")
    shop = ManagerLocation(None, "shop:1811", "secret")
    assert located() == shop
    assert located("--context", "office") == ManagerLocation(None, "office:1811")
    assert located("--manager", "other:1") == ManagerLocation(None, "other:1")
    assert located("--data", str(tmp_path)) == ManagerLocation(tmp_path)
    assert located("--token", "another") == ManagerLocation(None, "shop:1811", "another")
    monkeypatch.setenv("OPENMSMQ_MANAGER", "env:1")
    assert located() == ManagerLocation(None, "env:1")
    assert located("--context", "shop") == shop
    monkeypatch.delenv("OPENMSMQ_MANAGER")
    monkeypatch.setenv("OPENMSMQ_DATA", str(tmp_path))
    assert located() == ManagerLocation(tmp_path)
    monkeypatch.setenv("OPENMSMQ_CONTEXT", "office")
    assert located() == ManagerLocation(None, "office:1811")
    assert located("--data", str(tmp_path)) == ManagerLocation(tmp_path)


def test_the_token_of_a_context_goes_to_no_other_manager() -> None:
    run("context", "add", "shop", "--manager", "shop:1811", "--token", "secret")
    assert located("--manager", "elsewhere:1811").token == ""


def test_a_ca_is_kept_by_its_whole_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ca.pem").write_text("")
    run("context", "add", "shop", "--manager", "shop:1811", "--tls-ca", "ca.pem")
    assert located().tls_ca == tmp_path / "ca.pem"


def test_mistakes_are_named() -> None:
    assert "no context 'shop'" in run("context", "use", "shop", code=1).stderr
    assert "no context 'shop'" in run("queue", "list", "--context", "shop", code=1).stderr
    assert "--manager" in run("context", "add", "shop", "--manager", "shop:x", code=2).stderr
    both = ("queue", "list", "--context", "shop", "--manager", "shop:1811")
    assert "give one of them" in run(*both, code=2).stderr
