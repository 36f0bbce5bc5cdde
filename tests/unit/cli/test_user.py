"""`openmsmq user`."""

from __future__ import annotations

from tests.unit.cli.commands import Cli

from openmsmq.access.users import Users
from openmsmq.security.nt_hash import nt_hash


def test_a_user_is_added_listed_changed_and_removed(cli: Cli) -> None:
    add = ("user", "add", "backend", "--role", "read", "--queue", "orders*", "--password-stdin")
    assert cli(*add, stdin="secret\n").stdout == "added backend\n"
    assert Users.load(cli.directory).password_hash("backend") == nt_hash("secret")
    listed = cli("user", "list").stdout
    assert "backend" in listed
    assert r"private$\orders*" in listed
    assert nt_hash("secret").hex() not in listed
    [found] = cli.objects("user", "list")
    assert (found["name"], found["role"]) == ("backend", "read")
    cli("user", "passwd", "backend", "--password-stdin", stdin="new\n")
    assert Users.load(cli.directory).password_hash("backend") == nt_hash("new")
    assert cli("user", "remove", "backend").stdout == "removed backend\n"
    assert cli("user", "list").stdout == ""


def test_a_password_is_asked_for_twice_and_not_shown(cli: Cli) -> None:
    done = cli("user", "add", "backend", "--role", "read", stdin="secret\nsecret\n")
    assert "secret" not in done.output
    assert Users.load(cli.directory).password_hash("backend") == nt_hash("secret")


def test_an_empty_password_is_refused(cli: Cli) -> None:
    done = cli("user", "add", "backend", "--role", "read", "--password-stdin", code=2, stdin="\n")
    assert "the password is empty" in done.stderr


def test_the_anonymous_user_is_not_asked_for_a_password(cli: Cli) -> None:
    cli("user", "add", "anonymous", "--role", "read", "--queue", "news")
    assert [user.name for user in Users.load(cli.directory)] == ["anonymous"]


def test_a_user_of_the_domain_is_not_asked_for_a_password(cli: Cli) -> None:
    cli("user", "add", "alice", "--role", "read", "--kerberos")
    assert [user.name for user in Users.load(cli.directory)] == ["alice"]
    assert Users.load(cli.directory).password_hash("alice") is None


def test_a_user_that_is_not_there_is_named(cli: Cli) -> None:
    assert "unknown" in cli("user", "remove", "unknown", code=1).stderr
