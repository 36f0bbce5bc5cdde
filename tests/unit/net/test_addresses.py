"""Addresses that only this computer reaches."""

from __future__ import annotations

import pytest

from openmsmq.net.addresses import is_loopback


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_addresses_are_known(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "0.0.0.0", "localhost", ""])
def test_other_addresses_and_names_are_not(address: str) -> None:
    assert not is_loopback(address)
