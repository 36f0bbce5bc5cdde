"""Security identifiers."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter, Malformed
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, EVERYONE, WELL_KNOWN, Sid
from openmsmq.wire.reader import Reader

PERSON = "S-1-5-21-3623811015-3361044348-30300820-1013"


def test_bytes_text_and_value_are_three_faces_of_one_identifier() -> None:
    sid = Sid.from_text(PERSON)
    assert sid.authority == 5
    assert sid.subauthorities[0] == 21
    assert sid.subauthorities[-1] == 1013
    assert str(sid) == PERSON
    assert Sid.decode(sid.encode()) == sid


def test_the_authority_is_big_endian_and_the_rest_little_endian() -> None:
    assert ADMINISTRATORS.encode() == bytes.fromhex("01020000000000052000000020020000")


def test_a_wide_authority_is_written_in_hexadecimal() -> None:
    sid = Sid(0x123456789ABC, (1,))
    assert str(sid) == "S-1-0x123456789ABC-1"
    assert Sid.from_text(str(sid)) == sid
    assert Sid.from_text("s-1-0X000000000005-18") == Sid(5, (18,))


def test_an_identifier_may_be_its_authority_alone() -> None:
    assert Sid.from_text("S-1-5") == Sid.decode(bytes.fromhex("0100000000000005")) == Sid(5)


@pytest.mark.parametrize(
    "text",
    [
        *("", "S-1", "S-1-", "S-2-5-18", "S-1-5-", "S-1-5-x", "S-1-05-18", "S-1-5-018"),
        *("S-1-5-4294967296", "S-1-0x5-18", "S-1-5-18\n", "\u017f-1-5-18", "S-1-5-\u0661"),
        "S-1-5" + "-1" * 16,
    ],
)
def test_what_is_not_an_identifier_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        Sid.from_text(text)


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        ("0201000000000005 12000000", "SID.Revision", 0),
        ("0110000000000005" + "00000000" * 16, "SID.SubAuthorityCount", 1),
        ("0102000000000005 12000000", "SID.SubAuthority", 12),
        ("01010000", "SID.IdentifierAuthority", 2),
        ("0101000000000005 12000000 00", "end", 12),
        ("", "SID.Revision", 0),
    ],
)
def test_bytes_that_are_no_identifier_are_refused(data: str, field: str, offset: int) -> None:
    with pytest.raises(Malformed) as caught:
        Sid.decode(bytes.fromhex(data))
    assert (caught.value.field, caught.value.offset) == (field, offset)


def test_reading_stops_at_the_end_of_the_identifier() -> None:
    reader = Reader(EVERYONE.encode() + b"more")
    assert Sid.read(reader) == EVERYONE
    assert reader.remaining == 4


def test_building_an_impossible_identifier_is_our_own_mistake() -> None:
    for authority, subauthorities in ((1 << 48, ()), (5, (1,) * 16), (5, (1 << 32,)), (5, (-1,))):
        with pytest.raises(AssertionError):
            Sid(authority, subauthorities)


def test_some_identifiers_have_names() -> None:
    assert (EVERYONE.name, str(EVERYONE)) == ("Everyone", "S-1-1-0")
    assert (ANONYMOUS.name, str(ANONYMOUS)) == ("Anonymous", "S-1-5-7")
    assert Sid.from_text(PERSON).name is None
    assert len(set(WELL_KNOWN.values())) == len(WELL_KNOWN)
