"""What became of a directory operation ([MS-MQDSSM] 2.2.6), and what programs get to know of it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from openmsmq.directory.ldap.tree import ConnectionFailed, LdapError, ResultCode
from openmsmq.errors import (
    AccessDenied,
    DsError,
    MachineNotFound,
    MQError,
    NoDs,
    QueueExists,
    QueueNotFound,
)


class DirectoryOutcome(Enum):
    """DirectoryOperationResult ([MS-MQDMPR] 3.1.1.17)."""

    SUCCESS = "Success"
    OBJECT_NOT_FOUND = "ObjectNotFound"
    ATTRIBUTE_NOT_FOUND = "AttributeNotFound"
    OBJECT_ALREADY_EXISTS = "ObjectAlreadyExists"
    NOT_CONNECTED = "DirectoryNotConnected"
    GENERIC_ERROR = "GenericError"
    END_OF_DATA = "EndOfData"


_OUTCOMES: Final = {
    ResultCode.SUCCESS: DirectoryOutcome.SUCCESS,
    ResultCode.NO_SUCH_OBJECT: DirectoryOutcome.OBJECT_NOT_FOUND,
    ResultCode.NO_SUCH_ATTRIBUTE: DirectoryOutcome.ATTRIBUTE_NOT_FOUND,
    ResultCode.ENTRY_ALREADY_EXISTS: DirectoryOutcome.OBJECT_ALREADY_EXISTS,
    ResultCode.BUSY: DirectoryOutcome.NOT_CONNECTED,
    ResultCode.UNAVAILABLE: DirectoryOutcome.NOT_CONNECTED,
}
"BUSY and UNAVAILABLE have been tried twice when they are seen here (DS-14)."


def outcome_of(code: int) -> DirectoryOutcome:
    """What a result code of LDAP means; all others are errors ([MS-MQDSSM] 2.2.6)."""
    try:
        return _OUTCOMES.get(ResultCode(code), DirectoryOutcome.GENERIC_ERROR)
    except ValueError:
        return DirectoryOutcome.GENERIC_ERROR


class DirectoryFailed(Exception):
    """An operation did not succeed."""

    def __init__(self, outcome: DirectoryOutcome, reason: str, code: int = 0) -> None:
        super().__init__(outcome, reason, code)
        self.outcome = outcome
        self.reason = reason
        self.code = code
        "The result code of LDAP, where there was one."

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.reason}"


def failed(reason: str) -> DirectoryFailed:
    """A request that cannot be: GenericError."""
    return DirectoryFailed(DirectoryOutcome.GENERIC_ERROR, reason)


def not_found(what: str) -> DirectoryFailed:
    """There is no such object, or a search found no row (DS-03)."""
    return DirectoryFailed(DirectoryOutcome.OBJECT_NOT_FOUND, what)


def from_ldap(error: LdapError | ConnectionFailed, what: str) -> DirectoryFailed:
    """What an error of LDAP means ([MS-MQDSSM] 2.2.6)."""
    if isinstance(error, ConnectionFailed):
        return DirectoryFailed(DirectoryOutcome.NOT_CONNECTED, f"{what}: {error}")
    return DirectoryFailed(outcome_of(error.code), f"{what}: {error}", error.code)


def as_error(error: DirectoryFailed, *, machine: bool = False) -> MQError:
    """What a program gets: 0xC00E0013 if no controller answers ([MS-MQSO] 6.7.2; DS-14)."""
    match error.outcome:
        case DirectoryOutcome.NOT_CONNECTED:
            return NoDs(error.reason)
        case DirectoryOutcome.OBJECT_NOT_FOUND:
            return MachineNotFound(error.reason) if machine else QueueNotFound(error.reason)
        case DirectoryOutcome.OBJECT_ALREADY_EXISTS:
            return QueueExists(error.reason)
    if error.code == ResultCode.INSUFFICIENT_ACCESS_RIGHTS:
        return AccessDenied(error.reason)
    return DsError(error.reason)
