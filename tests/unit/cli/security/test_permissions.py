"""`openmsmq queue permissions`."""

from __future__ import annotations

from tests.unit.cli.commands import Cli

from openmsmq.access.users import Users

PERMISSIONS = ("queue", "permissions")


def test_a_new_queue_is_open_and_says_so(cli: Cli) -> None:
    cli("queue", "create", "orders")
    [found] = cli.objects(*PERMISSIONS, "show", "orders")
    assert found == {
        "name": r".\private$\orders",
        "owner": "administrators",
        "entries": None,
        "sddl": "O:BA",
    }
    assert "no list: open to everyone" in cli(*PERMISSIONS, "show", "orders").stdout
    assert "1 of 1 queue without permissions: .\\private$\\orders: open" in cli("doctor").stdout


def test_permissions_are_set_shown_and_checked(cli: Cli) -> None:
    cli("queue", "create", "orders")
    given = ("--allow", "everyone=send", "--allow", "user:anna=receive", "--deny", "user:bob=send")
    [made] = cli.objects(*PERMISSIONS, "set", "orders", *given)
    assert made["sddl"].startswith("O:BAD:(D;;LC;;;S-1-")
    rows = [line.split(maxsplit=3) for line in cli.lines(*PERMISSIONS, "show", "orders")[-4:]]
    assert rows == [
        ["1", "deny", "user:bob", "send"],
        ["2", "allow", "administrators", "full"],
        ["3", "allow", "everyone", "send"],
        ["4", "allow", "user:anna", "receive"],
    ]
    check = (*PERMISSIONS, "check", "orders", "--as")
    assert cli(*check, "user:anna", "--may", "receive").stdout == (
        "allowed: entry 4 decides: allow user:anna receive\n"
    )
    assert cli(*check, "user:bob", "--may", "send", code=1).stdout == (
        "denied: entry 1 decides: deny user:bob send\n"
    )
    assert cli(*check, "anonymous", "--may", "send", code=1).stdout == (
        "denied: no entry allows send\n"
    )
    [answer] = cli.objects(
        *PERMISSIONS, "check", "--as", "user:carl", "--may", "peek", "orders", code=1
    )
    assert (answer["allowed"], answer["entry"], answer["role"]) == (False, None, None)
    assert "without permissions" not in cli("doctor").stdout
    assert cli.objects("queue", "show", "orders")[0]["restricted"] is True


def test_entries_can_be_removed_replaced_and_written_in_sddl(cli: Cli) -> None:
    cli("queue", "create", "orders")
    cli(*PERMISSIONS, "set", "orders", "--allow", "user:anna=full", "--owner", "user:anna")
    [found] = cli.objects(*PERMISSIONS, "set", "orders", "--remove", "user:anna")
    assert [entry["who"] for entry in found["entries"]] == ["administrators"]
    assert found["owner"] == "user:anna"
    [found] = cli.objects(*PERMISSIONS, "set", "orders", "--replace", "--allow", "everyone=peek")
    assert found["entries"] == [{"type": "allow", "who": "everyone", "rights": "peek"}]
    [found] = cli.objects(
        *PERMISSIONS,
        "set",
        "orders",
        "--sddl",
        "O:BAD:(A;;GA;;;BA)",
    )
    assert found["sddl"] == "O:BAD:(A;;CCDCLCSWRPWPSDRCWDWO;;;BA)"
    [found] = cli.objects(*PERMISSIONS, "set", "orders", "--open")
    assert found["entries"] is None
    assert "Nothing to change" in cli(*PERMISSIONS, "set", "orders", code=2).stderr


def test_the_role_of_a_user_counts_too(cli: Cli) -> None:
    cli("queue", "create", "orders")
    cli("queue", "create", "other")
    Users.load(cli.directory).add("anna", "secret", "read", ("orders",))
    cli(*PERMISSIONS, "set", "orders", "--allow", "user:anna=send,receive")
    check = (*PERMISSIONS, "check", "orders", "--as", "user:anna", "--may")
    assert "entry 2" in cli(*check, "receive").stdout
    assert "the role read of user:anna" in cli(*check, "send", code=1).stdout
    other = (*PERMISSIONS, "check", "other", "--as", "user:anna", "--may", "peek")
    assert "the role read of user:anna" in cli(*other, code=1).stdout


def test_what_makes_no_sense_is_said(cli: Cli) -> None:
    cli("queue", "create", "orders")
    done = cli(*PERMISSIONS, "set", "orders", "--allow", "everyone=fly", code=1)
    assert "'fly' is no right: send, peek, receive" in done.stderr
    done = cli(*PERMISSIONS, "set", "orders", "--allow", "everybody=send", code=1)
    assert "'everybody': user:NAME" in done.stderr
    whole = ("--sddl", "D:(A;;LC;;;WD)")
    for beside in (("--allow", "user:anna=peek"), ("--open",), ("--owner", "user:anna")):
        done = cli(*PERMISSIONS, "set", "orders", *whole, *beside, code=2)
        assert "give it alone" in done.stderr
    done = cli(*PERMISSIONS, "set", "orders", "--open", "--deny", "user:anna=peek", code=2)
    assert "--open removes the list" in done.stderr
    assert cli.objects(*PERMISSIONS, "show", "orders")[0]["sddl"] == "O:BA", "nothing was changed"


def test_what_administrators_may_always_do(cli: Cli) -> None:
    """The check says what happens: they change a list that gives them nothing."""
    cli("queue", "create", "orders")
    given = ("--replace", "--allow", "user:anna=full", "--owner", "user:anna")
    cli(*PERMISSIONS, "set", "orders", *given)
    check = (*PERMISSIONS, "check", "orders", "--as", "administrators", "--may")
    for right in ("get-permissions", "set-permissions", "take-ownership"):
        assert "whatever the list says" in cli(*check, right).stdout
    assert "no entry allows send" in cli(*check, "send", code=1).stdout
    assert "no entry" in cli(*check, "send,set-permissions", code=1).stdout
    assert (
        "no entry"
        in cli(
            *PERMISSIONS, "check", "orders", "--as", "user:bob", "--may", "set-permissions", code=1
        ).stdout
    )
    cli(*PERMISSIONS, "set", "orders", "--allow", "administrators=send", "--owner", "user:bob")
    assert "entry 2" in cli(*check, "send").stdout
