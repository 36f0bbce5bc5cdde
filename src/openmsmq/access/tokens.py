"""Tokens: who may come in from other computers, and what they may do.

They are kept in `tokens.json` in the directory of the manager. It holds no secret, only a salted
hash of each. The secrets are 256 random bits: guessing them is hopeless, and a plain hash enough.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from openmsmq.clock import Clock, SystemClock
from openmsmq.errors import InvalidParameter, StorageError
from openmsmq.runtime.logs import log_event
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.store.files import make_directory
from openmsmq.types.caller import ROLES, Grant, Right, Role

TOKENS_FILE: Final = "tokens.json"
_LOCK_FILE: Final = "tokens.lock"
_FORMAT: Final = 1
_PREFIX: Final = "omq"
_ID_BYTES: Final = 4
_SECRET_BYTES: Final = 32
_TEXT_MAX: Final = 200
"Characters of a token that are looked at."
_HERE: Final = ".\\"
_PRIVATE: Final = "private$\\"
_log: Final = logging.getLogger(__name__)


class NoSuchToken(InvalidParameter):
    """There is no token with this identifier."""


class TokensDamaged(StorageError):
    """The file of the tokens cannot be read, so nobody is let in with one.

    Restore it, or remove it and create the tokens anew.
    """


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token."""

    id: str
    role: Role
    queues: tuple[str, ...]
    label: str
    created: int
    expires: int | None
    "Seconds since 1970 UTC, both; None: never."
    salt: str
    hash: str

    @property
    def grant(self) -> Grant:
        """What its holder may do."""
        return Grant(self.role, self.queues, self.id)

    def is_expired(self, now: float) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now >= self.expires


def role_of(rights: Collection[Right]) -> Role:
    """One role for all of these rights, at least one; an administrator needs no other."""
    if "admin" in rights:
        return "admin"
    if "read" in rights and "send" in rights:
        return "read+send"
    return "read" if "read" in rights else "send"


def normal_pattern(pattern: str) -> str:
    r"""A pattern as names are compared with it: `orders*` means `private$\orders*`."""
    if not pattern or not pattern.isprintable():
        raise InvalidParameter(f"{pattern!r}: a pattern of queue names is needed")
    is_bare = set(pattern).isdisjoint("\\=")
    return f"{_PRIVATE}{pattern}" if is_bare else pattern.removeprefix(_HERE)


class Tokens:
    """The tokens of a directory, as its file has them now."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Nothing is read yet; see `load`."""
        self._directory = directory
        self._clock = clock or SystemClock()
        self._seen: tuple[int, ...] | None = None
        "What the file looked like when it was read."
        self._tokens: dict[str, Token] = {}

    @classmethod
    def load(cls, directory: Path, clock: Clock | None = None) -> Tokens:
        """The tokens of a directory; `TokensDamaged` if they cannot be read."""
        tokens = cls(directory, clock)
        tokens.refresh()
        return tokens

    def __iter__(self) -> Iterator[Token]:
        """All of them, the oldest first."""
        self.refresh()
        return iter(self._tokens.values())

    def __bool__(self) -> bool:
        """Whether somebody could come in with one."""
        now = self._clock.now()
        return any(not token.is_expired(now) for token in self)

    def check(self, text: str) -> Grant | None:
        """What the holder of a token may do; None for anything that is not a token."""
        try:
            self.refresh()
        except StorageError as error:
            log_event(_log, "tokens cannot be read", level=logging.ERROR, error=error)
        prefix, _, rest = text[:_TEXT_MAX].partition("_")
        identifier, _, secret = rest.partition("_")
        token = self._tokens.get(identifier) if prefix == _PREFIX else None
        # The same work for a token that is not there: an answer gives away nothing by its time.
        known, salt = (token.hash, token.salt) if token else ("", "")
        matches = hmac.compare_digest(known.encode(), _hash(salt, secret).encode())
        if token is None or not matches or token.is_expired(self._clock.now()):
            return None
        return token.grant

    def ending(self, grant: Grant) -> Literal["", "revoked", "expired"]:
        """What has become of a token that somebody has shown, as the file was read last."""
        token = self._tokens.get(grant.token)
        if token is None or token.grant != grant:
            return "revoked"
        return "expired" if token.is_expired(self._clock.now()) else ""

    def refresh(self) -> bool:
        """Read the file if somebody has changed it; whether somebody has."""
        path = self._directory / TOKENS_FILE
        try:
            with path.open("rb") as file:
                state = os.fstat(file.fileno())
                seen = (state.st_ino, state.st_mtime_ns, state.st_size)
                if seen == self._seen:
                    return False
                found = _decode(file.read())
        except FileNotFoundError:
            return self._take(None, ())
        except OSError as error:
            self._take(None, ())  # nobody comes in with what cannot be read
            raise storage_error(error) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            self._take(None, ())
            raise TokensDamaged(f"{path}: {error}") from error
        return self._take(seen, found)

    def _take(self, seen: tuple[int, ...] | None, found: Iterable[Token]) -> bool:
        changed = seen != self._seen
        self._seen = seen
        self._tokens = {token.id: token for token in found}
        return changed

    def create(
        self,
        role: Role,
        queues: tuple[str, ...] = (),
        *,
        label: str = "",
        expires: int | None = None,
    ) -> tuple[Token, str]:
        """A new token, and the text its holder shows; that is kept nowhere."""
        make_directory(self._directory)
        with self._changing():
            identifier = secrets.token_hex(_ID_BYTES)
            while identifier in self._tokens:
                identifier = secrets.token_hex(_ID_BYTES)
            secret, salt = _random(), _random()
            created = int(self._clock.now())
            patterns = tuple(map(normal_pattern, queues))
            token = Token(
                identifier, role, patterns, label, created, expires, salt, _hash(salt, secret)
            )
            self._tokens[identifier] = token
        return token, f"{_PREFIX}_{identifier}_{secret}"

    def revoke(self, identifier: str) -> Token:
        """Let nobody in with this token any longer."""
        if not self._directory.is_dir():
            raise NoSuchToken(identifier)
        with self._changing():
            token = self._tokens.pop(identifier, None)
            if token is None:
                raise NoSuchToken(identifier)
        return token

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the tokens while nobody else does, and write them if that went well."""
        try:
            lock = self._for_owner(self._directory / _LOCK_FILE, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise storage_error(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refresh()
            yield
            self._write()
        finally:
            os.close(lock)

    def _write(self) -> None:
        """Put the tokens in the place of the old ones, at once and for good."""
        path = self._directory / TOKENS_FILE
        making = path.with_suffix(".making")
        document = {"format": _FORMAT, "tokens": [asdict(t) for t in self._tokens.values()]}
        self._seen = None
        try:
            making.unlink(missing_ok=True)
            with open(making, "x", opener=self._for_owner) as file:
                json.dump(document, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            making.replace(path)
            sync_directory(self._directory)
        except OSError as error:
            raise storage_error(error) from error

    def _for_owner(self, path: str | Path, flags: int) -> int:
        """Open a file for whoever owns the directory: it may be root who changes the tokens."""
        file = os.open(path, flags, 0o600)
        if os.geteuid() == 0:
            owner = self._directory.stat()
            os.fchown(file, owner.st_uid, owner.st_gid)
        return file


def _decode(data: bytes) -> list[Token]:
    document = json.loads(data)
    if document["format"] != _FORMAT:
        raise ValueError("a newer OpenMSMQ has written it")
    return [_token(values) for values in document["tokens"]]


def _token(values: dict[str, Any]) -> Token:
    token = Token(**{**values, "queues": tuple(values["queues"])})
    if token.role not in ROLES or type(token.expires) not in (int, type(None)):
        raise ValueError(f"the token {token.id} makes no sense")
    texts = (token.id, *token.queues, token.label, token.salt, token.hash)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"the token {token.id} makes no sense")
    return token


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}{secret}".encode(errors="surrogatepass")).hexdigest()


def _random() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).decode().rstrip("=")
