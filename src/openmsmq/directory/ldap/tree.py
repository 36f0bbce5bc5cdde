"""A tree of objects with attributes, as LDAP shows it; on the network or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol, TypeAlias

from openmsmq.directory.ldap.filters import ANYTHING, Filter

Values: TypeAlias = Sequence[bytes]
ROOT: Final = ""
"The name of the object that says what a server has (rootDSE)."


class SearchScope(IntEnum):
    """How far below its base a search looks (RFC 4511 4.5.1.2)."""

    BASE = 0
    LEVEL = 1
    SUBTREE = 2


class ResultCode(IntEnum):
    """What became of an operation (RFC 4511 4.1.9); others are possible."""

    SUCCESS = 0
    OPERATIONS_ERROR = 1
    PROTOCOL_ERROR = 2
    TIME_LIMIT_EXCEEDED = 3
    SIZE_LIMIT_EXCEEDED = 4
    STRONGER_AUTH_REQUIRED = 8
    REFERRAL = 10
    SASL_BIND_IN_PROGRESS = 14
    NO_SUCH_ATTRIBUTE = 16
    CONSTRAINT_VIOLATION = 19
    ATTRIBUTE_OR_VALUE_EXISTS = 20
    INVALID_ATTRIBUTE_SYNTAX = 21
    NO_SUCH_OBJECT = 32
    INVALID_CREDENTIALS = 49
    INSUFFICIENT_ACCESS_RIGHTS = 50
    BUSY = 51
    UNAVAILABLE = 52
    UNWILLING_TO_PERFORM = 53
    NAMING_VIOLATION = 64
    OBJECT_CLASS_VIOLATION = 65
    NOT_ALLOWED_ON_NON_LEAF = 66
    ENTRY_ALREADY_EXISTS = 68


class LdapError(Exception):
    """An operation was refused."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        try:
            name = ResultCode(self.code).name.lower().replace("_", " ")
        except ValueError:
            name = f"result code {self.code}"
        return f"{name}: {self.text.strip()}" if self.text.strip() else name


class ConnectionFailed(Exception):
    """No domain controller answers, or none lets us in."""


@dataclass(frozen=True, slots=True)
class LdapEntry:
    """An object that was found, with those of its attributes that were asked for."""

    name: str
    attributes: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    "By their names in lower case."

    def values(self, attribute: str) -> tuple[bytes, ...]:
        """All values of an attribute; none if it is unset."""
        return self.attributes.get(attribute.lower(), ())

    def first(self, attribute: str) -> bytes | None:
        """The value of an attribute that has one at most."""
        found = self.values(attribute)
        return found[0] if found else None

    def text(self, attribute: str) -> str:
        """The text of an attribute; empty if it is unset."""
        found = self.first(attribute)
        return "" if found is None else found.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an attribute: replaced, or with values added or deleted."""

    attribute: str
    values: Values = ()
    kind: str = "replace"
    "`replace`, `add` or `delete`."


class Tree(Protocol):
    """What a directory is asked. Operations raise `LdapError` or `ConnectionFailed`."""

    @property
    def server(self) -> str:
        """The name of the controller that answers; empty if none does."""
        ...

    async def controllers(self) -> tuple[str, ...]:
        """The controllers that may be asked, by their NetBIOS names; `ConnectionFailed`."""
        ...

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """All objects that a condition holds for; `security` also asks for descriptors."""
        ...

    async def add(self, name: str, attributes: Mapping[str, Values]) -> None:
        """Make an object."""
        ...

    async def modify(self, name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
        """Change an object; `flags` are the parts of its descriptor that are written."""
        ...

    async def delete(self, name: str) -> None:
        """Remove an object that has none below it."""
        ...

    async def close(self) -> None:
        """Need it no more."""
        ...
