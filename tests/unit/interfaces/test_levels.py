"""The authentication level that remote readers need."""

from __future__ import annotations

import pytest

from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.net.addresses import is_loopback
from openmsmq.rpc.auth.context import AuthLevel

ELSEWHERE = "192.0.2.1"


def least(
    policy: LevelPolicy, address: str = ELSEWHERE, *, workgroup: bool = False, reads: bool = False
) -> AuthLevel:
    return policy.least_to_open(address, workgroup=workgroup, anonymous_reads=reads)


def test_calls_of_other_computers_are_encrypted_and_those_of_this_one_have_a_login() -> None:
    """MQRR-036"""
    policy = LevelPolicy()
    assert least(policy, workgroup=True, reads=True) == AuthLevel.PRIVACY
    assert least(policy, "127.0.0.1") == least(policy, "::1") == AuthLevel.CONNECT
    assert policy.least(ELSEWHERE) == AuthLevel.PRIVACY


def test_no_login_is_needed_where_that_is_allowed() -> None:
    """MQRR-038"""
    policy = LevelPolicy(allow_unauthenticated=True)
    assert least(policy) == least(policy, workgroup=True) == policy.least(ELSEWHERE)
    assert policy.least(ELSEWHERE) == AuthLevel.NONE


def test_the_switch_for_workgroups_leaves_them_without_a_login_and_no_others() -> None:
    """MQRR-034, MQRR-035, MQRR-038"""
    policy = LevelPolicy(allow_unauthenticated=True, deny_workgroup_clients=True)
    assert least(policy, workgroup=True) == AuthLevel.NONE
    assert least(policy) == AuthLevel.PRIVACY


def test_no_login_is_needed_for_what_the_anonymous_user_may_read() -> None:
    """MQRR-039"""
    policy = LevelPolicy(allow_anonymous=True)
    assert least(policy, reads=True) == AuthLevel.NONE
    assert least(policy, reads=False) == AuthLevel.PRIVACY
    assert policy.least(ELSEWHERE) == AuthLevel.NONE


def test_signed_calls_are_enough_where_that_is_allowed() -> None:
    """MQRR-037"""
    assert least(LevelPolicy(accept_integrity=True)) == AuthLevel.INTEGRITY


@pytest.mark.parametrize("address", ["", "::ffff:127.0.0.1.x", "10.0.0.1", "fe80::1"])
def test_other_addresses_are_not_loopback(address: str) -> None:
    assert not is_loopback(address)
