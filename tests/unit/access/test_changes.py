"""Changes of tokens, users, certificates and keys in the audit log."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.signers import der_of
from tests.unit.engine.world import World, commit, commit_all

from openmsmq.access.changes import ACCESS_FILES, AccessChanges
from openmsmq.access.exchange_keys import KEYS_FILE, PEER_KEYS_FILE, PeerKeyFile
from openmsmq.access.senders import SENDERS_FILE, SenderCertificates
from openmsmq.access.tokens import TOKENS_FILE, NoSuchToken, Tokens
from openmsmq.access.users import USERS_FILE, Users
from openmsmq.errors import StorageFull
from openmsmq.types.history import AuditEntry

ME = f"unix:{os.getuid()}"


class Room:
    """A directory and a manager that follows its files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.world = World()
        self.changes = AccessChanges(directory, self.world.core.audit)

    def restart(self) -> None:
        self.world = self.world.restart()
        self.changes = AccessChanges(self.directory, self.world.core.audit)

    def entries(self) -> list[AuditEntry]:
        """All entries, once the files were looked at."""
        self.changes.refresh()
        commit_all(self.world.core)
        return list(self.world.core.audit.entries(self.world.core.snapshot))

    def acts(self) -> list[tuple[str, str, str]]:
        return [(entry.who, entry.act, entry.target) for entry in self.entries()]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_the_files_are_those_of_the_modules() -> None:
    assert set(ACCESS_FILES) == {TOKENS_FILE, USERS_FILE, SENDERS_FILE, KEYS_FILE, PEER_KEYS_FILE}


def test_each_change_is_recorded_once_with_who_made_it(room: Room) -> None:
    assert room.acts() == []
    token, secret = Tokens.load(room.directory).create("send", ("orders*",), label="web shop")
    users = Users.load(room.directory)
    users.add("anna", "geheim", "read")
    expected = [
        (ME, "create token", f"token:{token.id}"),
        (ME, "add user", "user:anna"),
    ]
    assert room.acts() == expected
    created = room.entries()[0]
    assert created.reason == "role send, queues private$\\orders*, 'web shop'"
    assert "process" in created.by
    assert abs(created.time.timestamp() - token.created) < 5
    users.set_password("ANNA", "anders")
    users.remove("anna")
    Tokens.load(room.directory).revoke(token.id)
    expected += [
        (ME, "revoke token", f"token:{token.id}"),
        (ME, "change password", "user:anna"),
        (ME, "remove user", "user:anna"),
    ]
    assert room.acts() == expected
    room.restart()
    assert room.acts() == expected
    log = repr(room.entries())
    assert secret.split("_", 2)[2] not in log
    assert "geheim" not in log


def test_what_came_and_went_while_no_one_looked_is_recorded(room: Room) -> None:
    tokens = Tokens.load(room.directory)
    token, _ = tokens.create("admin")
    tokens.revoke(token.id)
    assert [act for _, act, _ in room.acts()] == ["create token", "revoke token"]


def test_certificates_and_keys_are_recorded(room: Room) -> None:
    senders = SenderCertificates(room.directory)
    made = senders.register(der_of(), "user:alice")
    senders.remove(made.id)
    assert room.acts() == [
        (ME, "register certificate", "user:alice"),
        (ME, "remove certificate", "user:alice"),
    ]
    with pytest.raises(Exception, match="no keys"):
        PeerKeyFile(room.directory).add(room.world.core.identity, "b", "00")
    assert len(room.entries()) == 2


def test_a_change_that_fails_is_not_recorded(room: Room) -> None:
    tokens = Tokens.load(room.directory)
    with pytest.raises(NoSuchToken):
        tokens.revoke("none")
    tokens.create("watch")
    assert [act for _, act, _ in room.acts()] == ["create token"]


def test_an_edit_by_hand_shows(room: Room) -> None:
    token, _ = Tokens.load(room.directory).create("watch")
    room.entries()
    path = room.directory / TOKENS_FILE
    document = json.loads(path.read_text())
    document["tokens"][0]["role"] = "admin"
    path.write_text(json.dumps(document))
    assert room.acts()[1:] == [("", "edit file", "tokens.json")]
    room.restart()
    assert len(room.entries()) == 2
    # A command that comes before the manager looks says so, too.
    document["tokens"][0]["role"] = "send"
    path.write_text(json.dumps(document))
    Tokens.load(room.directory).revoke(token.id)
    assert [act for _, act, _ in room.acts()[2:]] == ["edit file", "revoke token"]
    path.write_text("nonsense")
    assert room.entries()[-1].reason == "it cannot be read"
    path.unlink()
    assert room.entries()[-1].reason == "removed"
    assert len(room.entries()) == 6


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 2}', '"text"', "7", "null"])
def test_a_file_that_makes_no_sense_is_an_entry(room: Room, text: str) -> None:
    Users.load(room.directory).add("anna", "secret", "read")
    assert len(room.entries()) == 1
    (room.directory / "users.json").write_text(text)
    assert room.entries()[-1].reason == "it cannot be read"


def test_a_file_of_an_older_version_is_followed_from_then_on(room: Room) -> None:
    token, _ = Tokens.load(room.directory).create("watch")
    path = room.directory / TOKENS_FILE
    document = json.loads(path.read_text())
    del document["changes"], document["seal"]
    path.write_text(json.dumps(document))
    assert room.acts() == []
    Tokens.load(room.directory).revoke(token.id)
    assert [act for _, act, _ in room.acts()] == ["revoke token"]


def test_what_a_full_disk_kept_out_comes_later(room: Room) -> None:
    Tokens.load(room.directory).create("watch")
    room.changes.refresh()
    commit(room.world.core, StorageFull("the disk"))
    assert [act for _, act, _ in room.acts()] == ["create token"]
