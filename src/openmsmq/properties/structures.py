"""Small structures that property values and management calls carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final

from openmsmq.wire.fixed import I64, U16, U32, Bytes16, Fixed, Named, fixed
from openmsmq.wire.reader import Reader


class AddressType(IntEnum):
    """The kinds of transport address ([MS-MQMQ] 2.2.4)."""

    IP = 1
    IP_RAS = 2
    IPX = 3
    FOREIGN = 5


_LENGTHS: Final[Mapping[int, int]] = {
    AddressType.IP: 4,
    AddressType.IP_RAS: 4,
    AddressType.IPX: 10,
    AddressType.FOREIGN: 16,
}


@fixed
class AddressHeader(Fixed):
    """The fixed part of TA_ADDRESS ([MS-MQMQ] 2.2.4)."""

    address_length: U16
    address_type: U16


@dataclass(frozen=True, slots=True)
class TransportAddress:
    """TA_ADDRESS ([MS-MQMQ] 2.2.4); an address of an unknown type may have any length."""

    address_type: int
    address: bytes

    def __post_init__(self) -> None:
        expected = _LENGTHS.get(self.address_type, len(self.address))
        assert len(self.address) == expected, "an address of the wrong length"

    @classmethod
    def read(cls, reader: Reader) -> TransportAddress:
        """The address that comes next."""
        with reader.section("TA_ADDRESS"):
            start = reader.offset
            header = reader.fixed(AddressHeader)
            expected = _LENGTHS.get(header.address_type, header.address_length)
            if header.address_length != expected:
                found = f"{header.address_length} bytes for an address of {expected}"
                reader.fail("AddressLength", found, offset=start)
            return cls(header.address_type, reader.take(expected, "Address"))

    def encode(self) -> bytes:
        """The bytes of this address."""
        return AddressHeader(len(self.address), self.address_type).pack() + self.address


def decode_addresses(data: bytes) -> tuple[TransportAddress, ...]:
    """The addresses packed one after the other, as in PROPID_QM_ADDRESS ([MS-MQMQ] 2.3.2.5)."""
    reader = Reader(data)
    found: list[TransportAddress] = []
    while reader.remaining:
        found.append(TransportAddress.read(reader))
    return tuple(found)


def encode_addresses(addresses: Iterable[TransportAddress]) -> bytes:
    """Addresses packed one after the other ([MS-MQMQ] 2.3.2.5)."""
    return b"".join(address.encode() for address in addresses)


@fixed
class SequenceInfo(Fixed):
    """SEQUENCE_INFO: where a transactional stream stands ([MS-MQMQ] 2.2.5.1)."""

    seq_id: I64
    seq_no: U32
    prev_no: U32


@fixed
class XactUow(Fixed):
    """XACTUOW: the identity of a transaction, 16 bytes that hold a GUID ([MS-MQMQ] 2.2.18.1.8)."""

    rgb: Annotated[Bytes16, Named("rgb")]


assert SequenceInfo.SIZE == 16
assert XactUow.SIZE == 16
