"""Users: who may log on with a name and a password, and what they may do.

They are kept in `users.json` in the directory of the manager. NTLM does not work with a salted
hash: the file holds the NT hash of each password, which is as good as the password. It is readable
for its owner only, and has to be kept like a private key.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from openmsmq.access.owner_file import OwnerFile
from openmsmq.access.tokens import normal_pattern
from openmsmq.clock import Clock, SystemClock
from openmsmq.errors import InvalidParameter, StorageError
from openmsmq.names.parts import fold
from openmsmq.runtime.logs import log_event
from openmsmq.security.nt_hash import nt_hash
from openmsmq.store.directories import make_directory
from openmsmq.types.caller import ANONYMOUS_USER, Grant, Role, rights_of

USERS_FILE: Final = "users.json"
ANONYMOUS: Final = ANONYMOUS_USER
_NAME: Final = re.compile(r'[^\\/@"\[\]:;|=,+*?<>\x00-\x1f]{1,64}')
_log: Final = logging.getLogger(__name__)


class NoSuchUser(InvalidParameter):
    """There is no user with this name."""


class UserExists(InvalidParameter):
    """There is a user with this name."""


class UsersDamaged(StorageError):
    """The file of the users cannot be read, so all logins are rejected.

    Restore it, or remove it and add the users anew.
    """


@dataclass(frozen=True, slots=True)
class User:
    """What is kept of a user."""

    name: str
    role: Role
    queues: tuple[str, ...]
    created: int
    "Seconds since 1970 UTC."
    nt_hash: str
    "In hexadecimal digits; empty for the anonymous user, which cannot log on."

    @property
    def grant(self) -> Grant:
        """What the user may do."""
        return Grant(self.role, self.queues, user=self.name)

    def __repr__(self) -> str:
        return f"User({self.name!r}, {self.role!r}, {self.queues!r})"


class Users:
    """The users of a directory, as its file has them now; names regardless of case."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Nothing is read yet; see `load`."""
        self._directory = directory
        self._clock = clock or SystemClock()
        self._file: OwnerFile[User] = OwnerFile(
            directory / USERS_FILE, "users", _decode, asdict, UsersDamaged
        )

    @classmethod
    def load(cls, directory: Path, clock: Clock | None = None) -> Users:
        """The users of a directory; `UsersDamaged` if they cannot be read."""
        users = cls(directory, clock)
        users.refresh()
        return users

    def __iter__(self) -> Iterator[User]:
        """All of them, the oldest first, as the file was read last."""
        return iter(self._file.values.values())

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has."""
        return self._file.refresh()

    def find(self, name: str) -> User | None:
        """The user with this name, as the file was read last."""
        return self._file.values.get(fold(name))

    def password_hash(self, name: str) -> bytes | None:
        """The NT hash of a user that can log on, as the file is now."""
        try:
            self.refresh()
        except StorageError as error:
            log_event(_log, "users cannot be read", level=logging.ERROR, error=error)
        found = self.find(name)
        return bytes.fromhex(found.nt_hash) if found is not None and found.nt_hash else None

    def add(
        self,
        name: str,
        password: str,
        role: Role,
        queues: tuple[str, ...] = (),
        *,
        kerberos_only: bool = False,
    ) -> User:
        """A new user; the anonymous one and those who log on with Kerberos have no password."""
        if not _NAME.fullmatch(name):
            raise InvalidParameter(
                f"{name!r}: a user name has 1 to 64 characters, none of them"
                r' \ / @ " [ ] : ; | = , + * ? < >'
            )
        is_anonymous = fold(name) == fold(ANONYMOUS)
        has_none = is_anonymous or kerberos_only
        if bool(password) == has_none:
            words = "has no password" if has_none else "needs a password"
            raise InvalidParameter(f"the user {name} {words}")
        patterns = tuple(map(normal_pattern, queues))
        digest = nt_hash(password).hex() if password else ""
        made = User(name, role, patterns, int(self._clock.now()), digest)
        make_directory(self._directory)
        with self._file.changing() as users:
            if fold(name) in users:
                raise UserExists(name)
            users[fold(name)] = made
            self._file.note("add user", f"user:{name}", _words(made))
        return made

    def set_password(self, name: str, password: str) -> User:
        """Change the password of a user; connections made with the old one are closed."""
        if not password or fold(name) == fold(ANONYMOUS):
            raise InvalidParameter(f"the user {name} cannot have this password")
        with self._changing(name) as users:
            changed = replace(users[fold(name)], nt_hash=nt_hash(password).hex())
            users[fold(name)] = changed
            self._file.note("change password", f"user:{changed.name}")
        return changed

    def remove(self, name: str) -> User:
        """Let a user log on no longer; its connections are closed."""
        with self._changing(name) as users:
            gone = users.pop(fold(name))
            self._file.note("remove user", f"user:{gone.name}", _words(gone))
        return gone

    @contextlib.contextmanager
    def _changing(self, name: str) -> Iterator[dict[str, User]]:
        """All users, for a change to one that there is."""
        if not self._directory.is_dir():
            raise NoSuchUser(name)
        with self._file.changing() as users:
            if fold(name) not in users:
                raise NoSuchUser(name)
            yield users


def _words(user: User) -> str:
    """What a user may do, for the audit log."""
    queues = f", queues {' '.join(user.queues)}" if user.queues else ""
    return f"role {user.role}{queues}"


def _decode(values: dict[str, Any]) -> tuple[str, User]:
    user = User(**{**values, "queues": tuple(values["queues"])})
    texts = (user.name, *user.queues, user.nt_hash)
    is_sound = bool(rights_of(user.role)) and all(isinstance(text, str) for text in texts)
    if not is_sound or len(bytes.fromhex(user.nt_hash)) not in (0, 16):
        raise ValueError(f"the user {user.name} makes no sense")
    return fold(user.name), user
