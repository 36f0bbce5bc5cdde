"""Tokens: who may come in from other computers, and what they may do.

They are kept in `tokens.json` in the directory of the manager. It holds no secret, only a salted
hash of each. The secrets are 256 random bits: guessing them is hopeless, and a plain hash enough.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from openmsmq.access.owner_file import OwnerFile
from openmsmq.clock import Clock, SystemClock
from openmsmq.errors import InvalidParameter, StorageError
from openmsmq.runtime.logs import log_event
from openmsmq.store.directories import make_directory
from openmsmq.types.caller import Caller, Grant, Role, TokenInfo, rights_of

TOKENS_FILE: Final = "tokens.json"
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
    """The file of the tokens cannot be read, so all tokens are rejected.

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
        self._file: OwnerFile[Token] = OwnerFile(
            directory / TOKENS_FILE, "tokens", _decode, asdict, TokensDamaged
        )
        self._used: dict[str, int] = {}
        "When each was shown last; of those that were good, so that there are no more than tokens."

    @classmethod
    def load(cls, directory: Path, clock: Clock | None = None) -> Tokens:
        """The tokens of a directory; `TokensDamaged` if they cannot be read."""
        tokens = cls(directory, clock)
        tokens.refresh()
        return tokens

    def __iter__(self) -> Iterator[Token]:
        """All of them, the oldest first."""
        self.refresh()
        return iter(self._file.values.values())

    def __bool__(self) -> bool:
        """Whether there is a token that is accepted."""
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
        token = self._file.values.get(identifier) if prefix == _PREFIX else None
        # The same work for a token that is not there: an answer gives away nothing by its time.
        known, salt = (token.hash, token.salt) if token else ("", "")
        matches = hmac.compare_digest(known.encode(), _hash(salt, secret).encode())
        if token is None or not matches or token.is_expired(self._clock.now()):
            return None
        self._used[token.id] = int(self._clock.now())
        return token.grant

    def grant_of(self, identifier: str) -> Grant | None:
        """What the holder of a token may do; None if its time is over."""
        token = next((one for one in self if one.id == identifier), None)
        if token is None:
            raise NoSuchToken(identifier[:20])
        return None if token.is_expired(self._clock.now()) else token.grant

    def info(self, token: Token) -> TokenInfo:
        """A token without its secret."""
        used = self._used.get(token.id)
        return TokenInfo(
            token.id, token.role, token.queues, token.label, token.created, token.expires, used
        )

    def ending(self, grant: Grant) -> Literal["", "revoked", "expired"]:
        """The state of a token that was presented, as the file was read last."""
        token = self._file.values.get(grant.token)
        if token is None or token.grant != grant:
            return "revoked"
        return "expired" if token.is_expired(self._clock.now()) else ""

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has."""
        return self._file.refresh()

    def create(
        self,
        role: Role,
        queues: tuple[str, ...] = (),
        *,
        label: str = "",
        expires: int | None = None,
        caller: Caller | None = None,
    ) -> tuple[Token, str]:
        """A new token, and the text its holder shows; that is kept nowhere."""
        make_directory(self._directory)
        with self._file.changing() as tokens:
            identifier = secrets.token_hex(_ID_BYTES)
            while identifier in tokens:
                identifier = secrets.token_hex(_ID_BYTES)
            secret, salt = _random(), _random()
            created = int(self._clock.now())
            patterns = tuple(map(normal_pattern, queues))
            token = Token(
                identifier, role, patterns, label, created, expires, salt, _hash(salt, secret)
            )
            tokens[identifier] = token
            self._file.note("create token", f"token:{identifier}", _words(token), caller)
        return token, f"{_PREFIX}_{identifier}_{secret}"

    def revoke(self, identifier: str, caller: Caller | None = None) -> Token:
        """Accept this token no longer."""
        if not self._directory.is_dir():
            raise NoSuchToken(identifier)
        with self._file.changing() as tokens:
            token = tokens.pop(identifier, None)
            if token is None:
                raise NoSuchToken(identifier)
            self._file.note("revoke token", f"token:{identifier}", _words(token), caller)
        return token


def _words(token: Token) -> str:
    """What a token allows, for the audit log."""
    queues = f", queues {' '.join(token.queues)}" if token.queues else ""
    label = f", {token.label!r}" if token.label else ""
    return f"role {token.role}{queues}{label}"


def _decode(values: dict[str, Any]) -> tuple[str, Token]:
    token = Token(**{**values, "queues": tuple(values["queues"])})
    if not rights_of(token.role) or type(token.expires) not in (int, type(None)):
        raise ValueError(f"the token {token.id} makes no sense")
    texts = (token.id, *token.queues, token.label, token.salt, token.hash)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"the token {token.id} makes no sense")
    return token.id, token


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}{secret}".encode(errors="surrogatepass")).hexdigest()


def _random() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).decode().rstrip("=")
