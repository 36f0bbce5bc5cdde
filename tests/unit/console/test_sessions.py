"""Logins: links that are good once, sessions that end, and how often someone may try."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from openmsmq.console.limits import (
    LINK_LIFE_S,
    LOGIN_PLACES_MAX,
    LOGINS_FAILED_MAX,
    SESSION_IDLE_S,
    SESSION_LIFE_S,
    SESSIONS_MAX,
)
from openmsmq.console.problems import RequestRefused
from openmsmq.console.sessions import (
    KEY_FILE,
    Sessions,
    load_key,
    make_code,
    read_place,
    write_place,
)

KEY = b"k" * 32


class Time:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_key_is_for_its_owner_and_stays(tmp_path: Path) -> None:
    key = load_key(tmp_path)
    assert load_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    (tmp_path / KEY_FILE).write_bytes(b"short")
    assert len(load_key(tmp_path)) == 32


def test_a_link_is_good_once_for_a_while_and_with_its_key() -> None:
    clock = Time()
    sessions = Sessions(KEY, clock)
    code = make_code(KEY, clock())
    assert not Sessions(b"x" * 32, clock).redeem(code)
    assert not Sessions(None, clock).redeem(code)
    assert sessions.redeem(code)
    assert not sessions.redeem(code)
    other = make_code(KEY, clock())
    clock.now += LINK_LIFE_S + 1
    assert not sessions.redeem(other)
    for wrong in ("", "1.2", "x.y.z", f"9{code}", code[:-1], "²." + code):
        assert not sessions.redeem(wrong)


def test_a_session_ends_when_it_is_idle_or_old_or_ended() -> None:
    clock = Time()
    sessions = Sessions(KEY, clock)
    idle = sessions.begin("", "me", "admin")
    assert sessions.find(idle.secret) is idle
    clock.now += SESSION_IDLE_S + 1
    assert sessions.find(idle.secret) is None
    old = sessions.begin("", "me", "admin")
    for _ in range(SESSION_LIFE_S // SESSION_IDLE_S + 1):
        clock.now += SESSION_IDLE_S - 1
        found = sessions.find(old.secret)
    assert found is None
    ended = sessions.begin("", "me", "admin")
    sessions.end(ended)
    assert sessions.find(ended.secret) is None
    assert sessions.find("") is None


def test_what_a_page_asks_by_itself_is_no_use_of_a_login() -> None:
    clock = Time()
    sessions = Sessions(KEY, clock)
    idle = sessions.begin("", "me", "admin")
    clock.now += SESSION_IDLE_S - 1
    assert sessions.find(idle.secret, is_use=False) is idle
    clock.now += 2
    assert sessions.find(idle.secret, is_use=False) is None


def test_there_is_a_limit_of_sessions() -> None:
    clock = Time()
    sessions = Sessions(KEY, clock)
    first = sessions.begin("", "me", "admin")
    for _ in range(SESSIONS_MAX):
        clock.now += 0.001
        sessions.begin("", "me", "admin")
    assert len(sessions) == SESSIONS_MAX
    assert sessions.find(first.secret) is None


def test_logins_that_fail_are_counted_for_a_minute() -> None:
    clock = Time()
    sessions = Sessions(KEY, clock)
    for _ in range(LOGINS_FAILED_MAX):
        sessions.check_rate("10.0.0.1")
        sessions.failed("10.0.0.1")
    with pytest.raises(RequestRefused) as refused:
        sessions.check_rate("10.0.0.1")
    assert refused.value.headers["Retry-After"] == "61"
    sessions.check_rate("10.0.0.2")  # who fails shuts no one else out
    clock.now += 61
    sessions.check_rate("10.0.0.1")


def test_addresses_of_failed_logins_are_forgotten_when_there_are_too_many() -> None:
    sessions = Sessions(KEY, Time())
    for _ in range(LOGINS_FAILED_MAX):
        sessions.failed("first")
    for number in range(LOGIN_PLACES_MAX):
        sessions.failed(str(number))
    sessions.check_rate("first")
    assert len(sessions._failures) == LOGIN_PLACES_MAX


def test_secrets_are_not_shown() -> None:
    session = Sessions(KEY, Time()).begin("omq_aa_secret", "me", "admin")
    assert "omq_aa_secret" not in repr(session)


def test_the_port_is_remembered(tmp_path: Path) -> None:
    assert read_place(tmp_path) is None
    write_place(tmp_path, 1234)
    assert read_place(tmp_path) == 1234
