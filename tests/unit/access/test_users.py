"""Users of remote calls, as their file keeps them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from openmsmq.access.users import (
    ANONYMOUS,
    USERS_FILE,
    NoSuchUser,
    UserExists,
    Users,
    UsersDamaged,
)
from openmsmq.errors import InvalidParameter
from openmsmq.security.nt_hash import nt_hash
from openmsmq.types.caller import Grant


def test_a_user_is_found_regardless_of_case_with_the_hash_of_its_password(tmp_path: Path) -> None:
    Users(tmp_path).add("Backend", "secret", "read", ("orders*",))
    users = Users.load(tmp_path)
    assert users.password_hash("BACKEND") == nt_hash("secret")
    found = users.find("backend")
    assert found is not None
    assert found.grant == Grant("read", ("private$\\orders*",), user="Backend")
    assert found.grant.holder == "Backend"


def test_the_file_is_for_its_owner_only_and_has_no_password(tmp_path: Path) -> None:
    Users(tmp_path).add("backend", "secret", "read")
    file = tmp_path / USERS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.read_text()
    assert nt_hash("secret").hex() not in repr(list(Users.load(tmp_path)))


def test_a_change_by_another_process_is_seen_by_the_next_login(tmp_path: Path) -> None:
    users = Users.load(tmp_path)
    assert users.password_hash("backend") is None
    Users(tmp_path).add("backend", "secret", "read")
    assert users.password_hash("backend") == nt_hash("secret")
    Users(tmp_path).set_password("Backend", "other")
    assert users.password_hash("backend") == nt_hash("other")
    assert Users(tmp_path).remove("BACKEND").name == "backend"
    assert users.password_hash("backend") is None


def test_a_name_is_given_once(tmp_path: Path) -> None:
    Users(tmp_path).add("backend", "secret", "read")
    with pytest.raises(UserExists):
        Users(tmp_path).add("BackEnd", "other", "admin")
    assert Users.load(tmp_path).password_hash("backend") == nt_hash("secret")


@pytest.mark.parametrize("name", ["", "a\\b", "a@b", "x" * 65, "a\nb"])
def test_a_name_that_ntlm_cannot_carry_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParameter, match="a user name has"):
        Users(tmp_path).add(name, "secret", "read")


def test_only_the_anonymous_user_has_no_password_and_it_cannot_log_on(tmp_path: Path) -> None:
    users = Users(tmp_path)
    with pytest.raises(InvalidParameter, match="needs a password"):
        users.add("backend", "", "read")
    with pytest.raises(InvalidParameter, match="has no password"):
        users.add(ANONYMOUS, "secret", "read")
    users.add(ANONYMOUS, "", "read")
    assert users.password_hash(ANONYMOUS) is None
    with pytest.raises(InvalidParameter):
        users.set_password(ANONYMOUS, "secret")


def test_a_user_who_logs_on_with_kerberos_has_no_password(tmp_path: Path) -> None:
    users = Users(tmp_path)
    assert not users.add("alice", "", "read", kerberos_only=True).nt_hash
    assert users.password_hash("alice") is None
    with pytest.raises(InvalidParameter, match="has no password"):
        users.add("bob", "secret", "read", kerberos_only=True)


def test_a_user_that_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NoSuchUser):
            Users(directory).remove("backend")
        with pytest.raises(NoSuchUser):
            Users(directory).set_password("backend", "secret")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    "change", [{"role": "king"}, {"nt_hash": "00"}, {"nt_hash": "xy"}, {"name": 5}, {"more": 1}]
)
def test_with_a_damaged_file_no_user_can_log_on(tmp_path: Path, change: dict[str, object]) -> None:
    Users(tmp_path).add("backend", "secret", "read")
    users = Users.load(tmp_path)
    file = tmp_path / USERS_FILE
    document = json.loads(file.read_text())
    document["users"][0].update(change)
    file.write_text(json.dumps(document))
    with pytest.raises(UsersDamaged):
        users.refresh()
    assert users.password_hash("backend") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_leaves_the_file_to_the_owner_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 1234)
    Users(tmp_path).add("backend", "secret", "read")
    assert (tmp_path / USERS_FILE).stat().st_uid == 1234
