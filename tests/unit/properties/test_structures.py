"""Addresses, sequences and transaction identities."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.properties.structures import (
    AddressType,
    SequenceInfo,
    TransportAddress,
    XactUow,
    decode_addresses,
    encode_addresses,
)
from openmsmq.wire.reader import Reader

LENGTHS = [(AddressType.IP, 4), (AddressType.IP_RAS, 4), (AddressType.IPX, 10)]
LENGTHS.append((AddressType.FOREIGN, 16))


def test_an_ip_address_is_length_type_and_four_bytes() -> None:
    """MQQB-365."""
    address = TransportAddress(AddressType.IP, bytes([192, 0, 2, 1]))
    assert address.encode() == bytes.fromhex("04000100c0000201")


@pytest.mark.parametrize(("kind", "length"), LENGTHS)
def test_a_known_type_has_its_length_and_no_other(kind: AddressType, length: int) -> None:
    """MQQB-365."""
    data = bytes([length, 0, kind, 0]) + bytes(length)
    assert decode_addresses(data) == (TransportAddress(kind, bytes(length)),)
    for other in (length - 1, length + 1):
        with pytest.raises(Malformed) as caught:
            decode_addresses(bytes([other, 0, kind, 0]) + bytes(other))
        assert (caught.value.field, caught.value.offset) == ("TA_ADDRESS.AddressLength", 0)


def test_an_unknown_type_is_carried_whatever_its_length() -> None:
    data = bytes.fromhex("03000900aabbcc")
    assert decode_addresses(data) == (TransportAddress(9, b"\xaa\xbb\xcc"),)


def test_addresses_lie_one_after_the_other() -> None:
    """MQQB-365."""
    addresses = tuple(TransportAddress(kind, bytes(length)) for kind, length in LENGTHS)
    assert decode_addresses(encode_addresses(addresses)) == addresses
    assert decode_addresses(b"") == ()


@pytest.mark.parametrize("data", [b"\x04", b"\x04\x00\x01\x00\x01\x02\x03", b"\xff\xff\x09\x00"])
def test_an_address_cut_short_is_refused(data: bytes) -> None:
    """MQQB-365."""
    with pytest.raises(Malformed):
        decode_addresses(data)


def test_building_an_address_of_the_wrong_length_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        TransportAddress(AddressType.IP, b"")


def test_sequence_info_is_signed_id_number_previous() -> None:
    """MQQB-366."""
    data = bytes.fromhex("feffffffffffffff 05000000 04000000")
    info = Reader(data).fixed(SequenceInfo)
    assert info == SequenceInfo(-2, 5, 4)
    assert info.pack() == data
    assert [field.name for field in SequenceInfo.FIELDS] == ["SeqID", "SeqNo", "PrevNo"]


def test_a_unit_of_work_is_sixteen_bytes() -> None:
    data = bytes(range(16))
    assert Reader(data).fixed(XactUow).rgb == data
    with pytest.raises(Malformed):
        Reader(data[:15]).fixed(XactUow)
