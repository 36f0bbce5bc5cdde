from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.directory.values import ValueKind, decode, decode_value, encode, encode_value
from openmsmq.security.sid import EVERYONE

GUID = UUID("00112233-4455-6677-8899-aabbccddeeff")


def test_a_guid_is_in_the_order_of_its_structure() -> None:
    """MQDS-027"""
    raw = bytes.fromhex("33221100554477668899aabbccddeeff")
    assert encode_value(ValueKind.GUID, GUID) == raw
    assert decode_value(ValueKind.GUID, raw) == GUID
    assert decode(ValueKind.GUIDS, [raw, raw]) == (GUID, GUID)


def test_booleans_are_words() -> None:
    """MQDS-030"""
    assert [encode_value(ValueKind.BOOLEAN, value) for value in (True, False)] == [
        b"TRUE",
        b"FALSE",
    ]
    assert [decode_value(ValueKind.BOOLEAN, raw) for raw in (b"TRUE", b"false")] == [True, False]
    with pytest.raises(ValueError, match="neither"):
        decode_value(ValueKind.BOOLEAN, b"1")


def test_a_quota_without_limit_is_minus_one() -> None:
    """MQDS-032"""
    assert encode_value(ValueKind.UNSIGNED, 0xFFFFFFFF) == b"-1"
    assert decode_value(ValueKind.UNSIGNED, b"-1") == 0xFFFFFFFF
    assert encode_value(ValueKind.UNSIGNED, 8192) == b"8192"
    assert decode_value(ValueKind.UNSIGNED, b"8192") == 8192


def test_times_are_seconds_since_1970() -> None:
    """MQDS-033"""
    assert decode_value(ValueKind.TIME, b"20261116133251.0Z") == 1794835971
    assert decode_value(ValueKind.TIME, b"20261116133251Z") == 1794835971
    assert encode_value(ValueKind.TIME, 1794835971) == b"20261116133251.0Z"
    with pytest.raises(ValueError, match="no time"):
        decode_value(ValueKind.TIME, b"yesterday")


def test_an_empty_text_has_no_value() -> None:
    """MQDS-045"""
    assert encode(ValueKind.TEXT, "") == []
    assert encode(ValueKind.TEXT, "ä") == ["ä".encode()]
    assert encode(ValueKind.NAMES, ["a", "b"]) == [b"a", b"b"]


def test_identifiers_of_users() -> None:
    raw = encode_value(ValueKind.SID, EVERYONE)
    assert decode_value(ValueKind.SID, raw) == EVERYONE
    assert encode_value(ValueKind.SID, "S-1-1-0") == raw
    for wrong in (b"", b"\x02", raw + b"x"):
        with pytest.raises(ValueError):  # noqa: PT011
            decode_value(ValueKind.SID, wrong)
