"""The codes themselves."""

from __future__ import annotations

import pytest

from openmsmq.errors import HResult

FACILITY = 0x00E0000


@pytest.mark.parametrize("code", [code for code in HResult if code], ids=lambda code: code.name)
def test_severity_and_facility_fit_the_name(code: HResult) -> None:
    """MQQB-361."""
    severity = 0x40000000 if code.name.startswith("MQ_INFORMATION_") else 0xC0000000
    assert code & 0xFFFF0000 == severity | FACILITY


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (HResult.MQ_OK, 0),
        (HResult.MQ_INFORMATION_PROPERTY, 0x400E0001),
        (HResult.MQ_ERROR, 0xC00E0001),
        (HResult.MQ_ERROR_QUEUE_NOT_FOUND, 0xC00E0003),
        (HResult.MQ_ERROR_IO_TIMEOUT, 0xC00E001B),
        (HResult.MQ_ERROR_TRANSACTION_USAGE, 0xC00E0050),
        (HResult.MQ_CORRUPTED_QUEUE_WAS_DELETED, 0xC00E0068),
        (HResult.MQ_ERROR_MESSAGE_NOT_FOUND, 0xC00E0088),
        (HResult.MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION, 0xC00E009C),
        (HResult.MQDS_UNKNOWN_SOURCE, 0xC00E0504),
    ],
)
def test_codes_have_the_numbers_of_the_specification(code: HResult, number: int) -> None:
    """MQQB-361."""
    assert code == number


def test_there_are_145_codes_besides_success() -> None:
    """MQQB-361."""
    assert len(HResult) == 146
    assert len(HResult.__members__) == 146


def test_exactly_the_numbers_of_the_specification_are_taken() -> None:
    """MQQB-361, DMPR-006: so no code is our own, which would need the customer bit 0x20000000."""
    gaps = {0x0A, 0x0C, 0x0E, 0x0F, 0x12, 0x15, 0x16, 0x17, 0x29, 0x32, 0x34, 0x47, 0x4D, 0x4F}
    gaps |= {0x52, 0x53, 0x54, 0x57, 0x59, 0x97, 0x98}
    errors = {code & 0xFFFF for code in HResult if code >> 30 == 3}
    assert errors == set(range(1, 0x9D)) - gaps | {0x504}
    assert {code & 0xFFFF for code in HResult if code >> 30 == 1} == {1, 2, 3, 4, 5, 6, 9, 10, 11}
