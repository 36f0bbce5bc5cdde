"""Tokens: who may come in, and what they may do."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.world import HandClock

from openmsmq.access.tokens import (
    TOKENS_FILE,
    NoSuchToken,
    Tokens,
    TokensDamaged,
    normal_pattern,
)
from openmsmq.errors import InvalidParameter, StorageFailed
from openmsmq.types.caller import EVERYTHING, Grant, Right, Role, role_of

ORDERS = r".\private$\orders"


def grant(role: Role, *patterns: str) -> Grant:
    """What a token with these patterns gives."""
    return Grant(role, tuple(map(normal_pattern, patterns)))


@pytest.mark.parametrize(
    ("rights", "role"),
    [
        (("read",), "read"),
        (("send", "send"), "send"),
        (("send", "read"), "read+send"),
        (("read", "admin"), "admin"),
        (("watch", "peek"), "peek"),
        (("operate", "watch"), "operate"),
        (("send", "peek", "operate"), "peek+send+operate"),
    ],
)
def test_rights_make_one_role(rights: tuple[Right, ...], role: Role) -> None:
    assert role_of(rights) == role


@pytest.mark.parametrize("pattern", ["", "a\nb"])
def test_a_pattern_is_a_text(pattern: str) -> None:
    with pytest.raises(InvalidParameter):
        normal_pattern(pattern)


def test_a_token_lets_its_holder_in(tmp_path: Path) -> None:
    token, text = Tokens(tmp_path).create("read", ("orders",), label="shop")
    assert text.startswith(f"omq_{token.id}_")
    assert Tokens.load(tmp_path).check(text) == Grant("read", (r"private$\orders",), token.id)
    assert list(Tokens.load(tmp_path)) == [token]


def test_a_secret_is_long_and_kept_nowhere(tmp_path: Path) -> None:
    texts = {Tokens(tmp_path).create("send")[1] for _ in range(20)}
    secrets = {text.split("_", 2)[2] for text in texts}
    assert len(secrets) == 20
    assert all(len(secret) == 43 for secret in secrets), "256 bits in base64"
    kept = "".join(path.read_text() for path in tmp_path.iterdir())
    assert not any(secret in kept for secret in secrets)


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    Tokens(tmp_path / "new").create("send")
    assert stat.S_IMODE((tmp_path / "new" / TOKENS_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_what_root_changes_belongs_to_the_owner_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr("os.fchown", lambda _, user, group: given.append((user, group)))
    owner = tmp_path.stat()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    Tokens(tmp_path).create("send")
    assert given == []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    Tokens(tmp_path).create("send")
    assert given == [(owner.st_uid, owner.st_gid)] * 2, "the file and the lock"


def test_anything_else_is_no_token(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    first, text = tokens.create("admin")
    second, other = tokens.create("read")
    secret = text.split("_", 2)[2]
    for wrong in (
        "", "omq", "omq__", f"omq_{first.id}", f"omq_{first.id}_", text[:-1], text + "A",
        f"xyz_{first.id}_{secret}", f"omq_{second.id}_{secret}", f"omq__{secret}", secret,
        first.hash, f"omq_{first.id}_{first.hash}", text.upper(), f" {text}", text * 100,
    ):  # fmt: skip
        assert tokens.check(wrong) is None, wrong
    assert tokens.check(other) is not None


@given(text=st.text(st.characters()) | st.just("omq_\ud800_\ud800"))
def test_garbage_is_no_token(text: str) -> None:
    assert Tokens(Path("/nowhere")).check(text) is None


def test_as_much_is_done_for_a_token_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(tmp_path)
    _, text = tokens.create("read")
    compared: list[bytes] = []
    monkeypatch.setattr("hmac.compare_digest", lambda _, shown: compared.append(shown))
    for shown in (text, "omq_00000000_x", "nonsense"):
        assert tokens.check(shown) is None
    assert len(compared) == 3


def test_its_time_comes_to_an_end(tmp_path: Path) -> None:
    clock = HandClock(1000.0)
    tokens = Tokens(tmp_path, clock)
    assert not tokens
    token, text = tokens.create("read", expires=1060)
    assert token.created == 1000
    clock.wait(59)
    assert tokens.check(text)
    assert tokens
    clock.wait(1)
    assert tokens.check(text) is None
    assert not tokens
    assert list(tokens) == [token], "it is still listed"


def test_what_others_change_counts_at_once(tmp_path: Path) -> None:
    service, admin = Tokens.load(tmp_path), Tokens(tmp_path)
    token, text = admin.create("read")
    assert service.refresh()
    assert not service.refresh()
    assert service.check(text)
    assert admin.revoke(token.id) == token
    assert service.check(text) is None
    admin.create("send")
    (tmp_path / TOKENS_FILE).unlink()
    assert list(service) == []
    assert not service.refresh()


def test_what_has_become_of_a_token_can_be_asked(tmp_path: Path) -> None:
    clock = HandClock()
    tokens = Tokens.load(tmp_path, clock)
    kept, text = tokens.create("read", expires=int(clock.time) + 10)
    shown = tokens.check(text)
    assert shown is not None
    assert tokens.ending(shown) == ""
    clock.wait(10)
    assert tokens.ending(shown) == "expired"
    tokens.revoke(kept.id)
    assert tokens.ending(shown) == "revoked"
    assert tokens.ending(EVERYTHING) == "revoked", "it is no token"


def test_only_what_is_there_can_be_revoked(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    token, text = tokens.create("read")
    for identifier in ("", "00000000", text):
        with pytest.raises(NoSuchToken):
            tokens.revoke(identifier)
    with pytest.raises(NoSuchToken):
        Tokens(tmp_path / "nowhere").revoke(token.id)
    assert not (tmp_path / "nowhere").exists()
    assert tokens.check(text)


def test_two_who_change_at_a_time_lose_nothing(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(10):
            Tokens(tmp_path).create("read")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(Tokens.load(tmp_path))) == 40


def test_identifiers_are_never_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(["aa", "aa", "aa", "bb"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(given))
    tokens = Tokens(tmp_path)
    assert [tokens.create("read")[0].id for _ in range(2)] == ["aa", "bb"]


GOOD: dict[str, Any] = {
    "id": "a", "role": "read", "queues": [], "label": "", "created": 1, "expires": None,
    "salt": "s", "hash": "h",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"format": 3, "tokens": []}),
        json.dumps({"format": 1, "tokens": [{}]}),
        json.dumps({"format": 1, "tokens": [{**GOOD, "role": "king"}]}),
        json.dumps({"format": 1, "tokens": [{**GOOD, "expires": "never"}]}),
        json.dumps({"format": 1, "tokens": [{**GOOD, "hash": 5}]}),
        json.dumps({"format": 1, "tokens": [{**GOOD, "queues": [5]}]}),
        json.dumps({"format": 1, "tokens": [{**GOOD, "more": 5}]}),
    ],
    ids=lambda text: text[:60],
)
def test_with_a_malformed_file_every_token_is_refused(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(tmp_path)
    _, good = tokens.create("read")
    before = (tmp_path / TOKENS_FILE).read_text()
    (tmp_path / TOKENS_FILE).write_text(text)
    assert tokens.check(good) is None
    assert "tokens cannot be read" in caplog.text
    with pytest.raises(TokensDamaged):
        Tokens.load(tmp_path)
    with pytest.raises(TokensDamaged):
        tokens.create("read")
    assert (tmp_path / TOKENS_FILE).read_text() == text, "it is left as it is"
    (tmp_path / TOKENS_FILE).write_text(before)
    assert tokens.check(good)


def test_a_token_of_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / TOKENS_FILE).write_text(json.dumps({"format": 1, "tokens": [GOOD]}))
    assert [token.id for token in Tokens.load(tmp_path)] == ["a"]


def test_a_file_of_the_first_format_is_kept_in_the_second(tmp_path: Path) -> None:
    """Its tokens count as before, also when others are added to them."""
    path = tmp_path / TOKENS_FILE
    old, secret = Tokens(tmp_path).create("read+send", ("orders",))
    path.write_text(json.dumps({"format": 1, "tokens": json.loads(path.read_text())["tokens"]}))
    tokens = Tokens(tmp_path)
    found = tokens.check(secret)
    assert found is not None
    assert found == old.grant
    assert not found.allows("operate", r".\private$\orders")
    assert json.loads(path.read_text())["format"] == 1, "to read it changes nothing"
    _, new = tokens.create("watch+operate")
    assert json.loads(path.read_text())["format"] == 2
    assert Tokens(tmp_path).check(secret) == found
    assert Tokens(tmp_path).check(new) is not None


def test_a_disk_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed):
        Tokens.load(tmp_path / "file")
    with pytest.raises(StorageFailed):
        Tokens(tmp_path / "file" / "inside").create("read")
    tokens = Tokens(tmp_path)
    _, text = tokens.create("read")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(StorageFailed, match="Input/output error"):
            tokens.create("send")
    assert [token.role for token in tokens] == ["read"], "what was there is there"
    assert tokens.check(text)


def test_a_directory_that_cannot_be_locked_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tokens.lock").mkdir()
    with pytest.raises(StorageFailed):
        Tokens(tmp_path).create("read")


def test_with_an_unreadable_file_every_token_is_refused(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    _, text = tokens.create("read")
    assert tokens.check(text)
    (tmp_path / TOKENS_FILE).unlink()
    (tmp_path / TOKENS_FILE).mkdir()
    assert tokens.check(text) is None
    with pytest.raises(StorageFailed):
        tokens.refresh()
