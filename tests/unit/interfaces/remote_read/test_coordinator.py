"""The interface that ends transactions of remote readers."""

from __future__ import annotations

from openmsmq.interfaces.limits import TOKEN_SIZE_MAX
from openmsmq.interfaces.remote_read.coordinator import OWN_TOKEN, TransactionArgument


def test_a_transaction_is_named_by_its_16_bytes() -> None:
    unit = bytes(range(16))
    assert TransactionArgument(unit).encode() == unit


def test_our_token_cannot_be_one_of_a_dtc() -> None:
    """[MS-DTCO] 2.2.5.4: a token of a DTC begins with a version of 1."""
    assert len(OWN_TOKEN) < TOKEN_SIZE_MAX
    assert int.from_bytes(OWN_TOKEN[:4], "little") > 0xFFFF
