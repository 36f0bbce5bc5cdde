from __future__ import annotations

import pytest

from openmsmq.directory.ldap.tree import ConnectionFailed, LdapError, ResultCode
from openmsmq.directory.outcome import (
    DirectoryFailed,
    DirectoryOutcome,
    as_error,
    failed,
    from_ldap,
    not_found,
    outcome_of,
)
from openmsmq.errors import (
    AccessDenied,
    DsError,
    MachineNotFound,
    MQError,
    NoDs,
    QueueExists,
    QueueNotFound,
)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, DirectoryOutcome.SUCCESS),
        (32, DirectoryOutcome.OBJECT_NOT_FOUND),
        (16, DirectoryOutcome.ATTRIBUTE_NOT_FOUND),
        (68, DirectoryOutcome.OBJECT_ALREADY_EXISTS),
        (51, DirectoryOutcome.NOT_CONNECTED),
        (52, DirectoryOutcome.NOT_CONNECTED),
    ],
)
def test_result_codes_that_mean_something(code: int, outcome: DirectoryOutcome) -> None:
    """MQDS-018 to MQDS-021, MQDS-023"""
    assert outcome_of(code) is outcome
    assert from_ldap(LdapError(code), "x").outcome is outcome


@pytest.mark.parametrize("code", [1, 3, 4, 10, 19, 21, 50, 53, 64, 65, 66, 99, 118])
def test_all_others_are_errors(code: int) -> None:
    """MQDS-022"""
    assert outcome_of(code) is DirectoryOutcome.GENERIC_ERROR


def test_no_connection_is_an_outcome_of_its_own() -> None:
    """MQDS-010"""
    assert from_ldap(ConnectionFailed("down"), "x").outcome is DirectoryOutcome.NOT_CONNECTED


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (from_ldap(ConnectionFailed("down"), "x"), NoDs),
        (not_found("x"), QueueNotFound),
        (from_ldap(LdapError(68), "x"), QueueExists),
        (from_ldap(LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS), "x"), AccessDenied),
        (failed("x"), DsError),
    ],
)
def test_what_programs_get(error: DirectoryFailed, kind: type[MQError]) -> None:
    """MQDS-024, MQDS-026, SYS-128"""
    assert isinstance(as_error(error), kind)


def test_the_codes_of_programs() -> None:
    """MQDS-026"""
    assert int(NoDs.hresult) == 0xC00E0013
    assert isinstance(as_error(not_found("x"), machine=True), MachineNotFound)
    assert str(not_found("x")) == "ObjectNotFound: x"
