"""Logins of browsers: one-time links, cookies, and how often someone may try.

A one-time link is signed with a key in the directory of the manager, so that anyone with access to
that directory can make one (`openmsmq console login`), without asking the service.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openmsmq.console.limits import (
    LINK_LIFE_S,
    LOGIN_PLACES_MAX,
    LOGINS_FAILED_MAX,
    SESSION_IDLE_S,
    SESSION_LIFE_S,
    SESSIONS_MAX,
)
from openmsmq.console.problems import RequestRefused

KEY_FILE: Final = "console.key"
PLACE_FILE: Final = "console.port"
_KEY_BYTES: Final = 32
_MINUTE: Final = 60.0
_PARTS: Final = 3


def load_key(directory: Path) -> bytes:
    """The key that signs one-time links; made if it is not there. None but its owner reads it."""
    path = directory / KEY_FILE
    with suppress(FileNotFoundError):
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key
    making = path.with_name(f".{KEY_FILE}.{os.getpid()}")
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
    making.replace(path)
    return path.read_bytes()


def write_place(directory: Path, port: int) -> None:
    """Keep the port of the console, for those who make links."""
    (directory / PLACE_FILE).write_text(f"{port}\n")


def read_place(directory: Path) -> int | None:
    """The port of the console that was started last; None if that is not known."""
    try:
        return int((directory / PLACE_FILE).read_text())
    except (OSError, ValueError):
        return None


def make_code(key: bytes, now: float) -> str:
    """What a one-time link carries: until when it is good, a number used once, and a signature."""
    text = f"{int(now) + LINK_LIFE_S}.{secrets.token_hex(8)}"
    return f"{text}.{_sign(key, text)}"


def _sign(key: bytes, text: str) -> str:
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(slots=True, eq=False)
class BrowserSession:
    """A browser that is logged in."""

    secret: str
    token: str = field(repr=False)
    "What it logs in with at managers; empty for what programs of this computer may do."
    who: str
    role: str
    "What the token is for, as far as it is known; empty if it is not."
    began: float
    used: float
    person: str = ""
    "Who a proxy says that it is; several persons may have one token."


class Sessions:
    """All logins of a console."""

    def __init__(self, key: bytes | None, clock: Callable[[], float]) -> None:
        """`key` signs one-time links; without it there are none."""
        self.key = key
        self._clock = clock
        self._sessions: dict[str, BrowserSession] = {}
        self._spent: dict[str, float] = {}
        "One-time links that were used, and until when they would have been good."
        self._failures: dict[str, deque[float]] = {}
        "When logins failed, by where they came from, the last of them last."

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token: str, who: str, role: str) -> BrowserSession:
        """Someone is logged in."""
        self._sweep()
        while len(self._sessions) >= SESSIONS_MAX:
            oldest = min(self._sessions.values(), key=lambda one: one.used)
            del self._sessions[oldest.secret]
        now = self._clock()
        session = BrowserSession(secrets.token_urlsafe(32), token, who, role, now, now)
        self._sessions[session.secret] = session
        return session

    def find(self, secret: str, *, is_use: bool = True) -> BrowserSession | None:
        """The login that a cookie stands for, if it is not over.

        What a page asks by itself, while no one touches it, is no use of the login.
        """
        session = self._sessions.get(secret)
        if session is None or self._is_over(session):
            return None
        if is_use:
            session.used = self._clock()
        return session

    def end(self, session: BrowserSession) -> None:
        """Log out."""
        self._sessions.pop(session.secret, None)

    def _is_over(self, session: BrowserSession) -> bool:
        now = self._clock()
        return now - session.used > SESSION_IDLE_S or now - session.began > SESSION_LIFE_S

    def _sweep(self) -> None:
        for secret in [one.secret for one in self._sessions.values() if self._is_over(one)]:
            del self._sessions[secret]

    def redeem(self, code: str) -> bool:
        """Whether a one-time link is good, which it is only once."""
        if self.key is None:
            return False
        now = self._clock()
        for spent in [one for one, until in self._spent.items() if until < now]:
            del self._spent[spent]
        parts = code.split(".")
        if len(parts) != _PARTS or not (parts[0].isascii() and parts[0].isdecimal()):
            return False
        signed = hmac.compare_digest(_sign(self.key, ".".join(parts[:2])), parts[2])
        if not signed or int(parts[0]) < now or code in self._spent:
            return False
        self._spent[code] = float(parts[0])
        return True

    def check_rate(self, place: str) -> None:
        """Refuse a login from an address after too many from there that failed."""
        now = self._clock()
        failures = self._failures.get(place, deque())
        while failures and failures[0] <= now - _MINUTE:
            failures.popleft()
        if len(failures) >= LOGINS_FAILED_MAX:
            wait = int(failures[0] + _MINUTE - now) + 1
            raise RequestRefused(
                429,
                f"{len(failures)} logins from {place} failed within a minute",
                f"wait {wait} seconds",
                {"Retry-After": str(wait)},
            )

    def failed(self, place: str) -> None:
        """A login from an address failed."""
        failures = self._failures.pop(place, deque())
        failures.append(self._clock())
        self._failures[place] = failures
        while len(self._failures) > LOGIN_PLACES_MAX:
            del self._failures[next(iter(self._failures))]
