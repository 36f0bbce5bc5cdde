"""Dates, GUIDs, numbers and identifiers."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.soap.scalars import (
    NEVER,
    SoapMessageId,
    StreamId,
    read_base64,
    read_date,
    read_guid,
    read_number,
    write_base64,
    write_date,
)

GUID = UUID("32221eda-9376-46df-b6ed-783091123831")


def test_a_date_is_written_in_utc_without_separators() -> None:
    """SRMP-040, SRMP-041: YYYYMMDDThhmmss."""
    assert write_date(0) == "19700101T000000"
    assert write_date(NEVER) == "20380119T031407"
    assert read_date("20070608T164419", "d") == 1181321059
    assert read_date(write_date(U32_MAX), "d") == U32_MAX


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2007-06-08T16:44:19",
        "20070608T164419Z",
        "20070230T000000",
        "20070608T240000",
        "19691231T235959",
        "21060207T062816",
        "99990101T000000",
        "00000101T000000",
        "2007060\u0668T164419",
    ],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    """SRMP-075, SRMP-077, SRMP-137: with the element and the value in the error."""
    with pytest.raises(Malformed, match=r"properties\.sentAt"):
        read_date(text, "properties.sentAt")


def test_a_guid_is_read_in_any_letter_case_and_written_in_small_letters() -> None:
    """SRMP-039: the text form of RFC 4122, without braces."""
    assert read_guid(str(GUID).upper(), "g") == GUID
    for text in ("", "{32221eda-9376-46df-b6ed-783091123831}", GUID.hex, f"{GUID} "):
        with pytest.raises(Malformed, match="is not a GUID"):
            read_guid(text, "g")


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "0x1", "8", "1" * 30, "\u0661", "1 "])
def test_what_is_no_number_or_too_large_for_its_attribute_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="a number from 0 to 7"):
        read_number(text, "Msmq.Priority", 7)


def test_numbers_reach_up_to_64_bits() -> None:
    assert read_number(str(2**64 - 1), "n") == 2**64 - 1
    with pytest.raises(Malformed):
        read_number(str(2**64), "n")


def test_base64_has_the_size_it_should_have() -> None:
    assert read_base64(" AAEC\r\n ", "b", 3, 3) == b"\0\1\2"
    assert write_base64(b"\0\1\2") == "AAEC"
    for text in ("AAEC", "AA", "A$", "\u00e9"):
        with pytest.raises(Malformed, match="base64"):
            read_base64(text, "b", 20, 20)


def test_a_message_identifier_is_a_number_and_a_guid() -> None:
    """SRMP-065, SRMP-156: uuid:number@GUID."""
    text = f"uuid:26626@{GUID}"
    assert SoapMessageId.read(text, "id") == (26626, GUID)
    assert str(SoapMessageId(26626, GUID)) == text


@pytest.mark.parametrize(
    "text", ["", f"26626@{GUID}", f"uuid:@{GUID}", "uuid:1", "uuid:1@", f"uuid:4294967296@{GUID}"]
)
def test_what_is_no_message_identifier_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match=r"path\.id"):
        SoapMessageId.read(text, "path.id")


def test_a_stream_identifier_is_a_guid_and_a_number_of_64_bits() -> None:
    """SRMP-098, SRMP-099: time stamp in the high half, ordinal in the low half."""
    text = f"uid:{GUID}\\4839986701558349830"
    found = StreamId.read(text, "streamId")
    assert found == (GUID, 0x432B1643_00000006)
    assert str(found) == text


@pytest.mark.parametrize("text", ["", f"uid:{GUID}", f"{GUID}\\1", f"uid:{GUID}/1", "uid:1\\1"])
def test_what_is_no_stream_identifier_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="streamId"):
        StreamId.read(text, "streamId")


def test_an_error_shows_the_beginning_of_a_long_value_only() -> None:
    with pytest.raises(Malformed) as error:
        read_guid("x" * 100_000, "g")
    assert len(str(error.value)) < 200
