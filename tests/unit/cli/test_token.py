"""`openmsmq token`."""

from __future__ import annotations

import time
from typing import get_args

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.access.tokens import TOKENS_FILE, Tokens
from openmsmq.types.caller import Grant, Right


def test_a_token_is_printed_once_and_lets_its_holder_in(cli: Cli) -> None:
    done = cli("token", "create", "--role", "send", "--queue", "orders*", "--label", "web shop")
    text = done.stdout.removesuffix("\n")
    found = Tokens.load(cli.directory).check(text)
    assert found is not None
    assert found == Grant("send", (r"private$\orders*",), found.token)
    assert f"created {found.token}; keep it safe" in done.stderr
    assert text not in cli("token", "list").output
    assert text.split("_", 2)[2] not in (cli.directory / TOKENS_FILE).read_text()


def test_programs_get_objects(cli: Cli) -> None:
    [made] = cli.objects("token", "create", "--role", "read", "--expires", "2")
    assert Tokens.load(cli.directory).check(made.pop("token"))
    assert made == {
        "id": made["id"], "role": "read", "queues": [], "label": "", "created": made["created"],
        "expires": made["expires"],
    }  # fmt: skip
    assert made["created"] < made["expires"]
    assert made["expires"].endswith("Z")
    assert cli.objects("token", "list") == [made]
    assert cli.objects("token", "revoke", made["id"]) == [made]
    assert cli.objects("token", "list") == []


def test_one_token_may_be_for_both(cli: Cli) -> None:
    [made] = cli.objects("token", "create", "--role", "send", "--role", "read")
    found = Tokens.load(cli.directory).check(made["token"])
    assert found is not None
    assert [right for right in get_args(Right) if found.has(right)] == [
        "watch", "peek", "read", "send",
    ]  # fmt: skip
    assert cli.lines("token", "list")[1].split()[1] == made["role"] == "read+send"


def test_tokens_are_listed_for_people(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.lines("token", "list") == []
    cli("token", "create", "--role", "admin", "--label", "Anna")
    cli("token", "create", "--role", "read", "--queue", "a", "--queue", "b", "--expires", "1")
    head, first, second = cli.lines("token", "list")
    assert head.split() == ["ID", "ROLE", "QUEUES", "CREATED", "EXPIRES", "LABEL"]
    assert first.split()[1:3] == ["admin", "all"]
    assert first.endswith("never                    Anna")
    assert r"private$\a, private$\b" in second
    assert "(over)" not in second
    later = time.time() + 86_401
    monkeypatch.setattr("time.time", lambda: later)
    assert cli.lines("token", "list")[2].endswith("UTC (over)")


def test_a_revoked_token_is_refused(cli: Cli) -> None:
    text = cli.lines("token", "create", "--role", "read")[0]
    tokens = Tokens.load(cli.directory)
    identifier = text.split("_")[1]
    assert cli.lines("token", "revoke", identifier) == [f"revoked {identifier}"]
    assert tokens.check(text) is None
    again = cli("token", "revoke", identifier, code=1)
    assert "NoSuchToken (0xC00E0006): There is no token with this identifier" in again.stderr


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--role", "king"],
        ["--role", "read", "--expires", "0"],
        ["--role", "read", "--expires", "never"],
        ["--role", "read", "--label", "x" * 201],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_wrong_usage(cli: Cli, options: list[str]) -> None:
    cli("token", "create", *options, code=2)
    assert not cli.directory.exists()


def test_a_pattern_that_is_none_is_refused(cli: Cli) -> None:
    cli("token", "create", "--role", "read", "--queue", "", code=1)
    assert not (cli.directory / TOKENS_FILE).exists()


def test_a_damaged_file_of_tokens_is_reported(cli: Cli) -> None:
    cli.directory.mkdir()
    (cli.directory / TOKENS_FILE).write_text("nonsense")
    assert "TokensDamaged" in cli("token", "list", code=1).stderr
