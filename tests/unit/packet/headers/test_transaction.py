"""TransactionHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import OTHER, refusal

from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.wire.reader import Reader

START = pack("<IIIII", 0x00123456, 7, 0x65000000, 2, 1)


def test_a_header_has_20_bytes_without_a_connector() -> None:
    """MQQB-078, MQQB-081."""
    reader = Reader(START + bytes(16))
    header = TransactionHeader.read(reader)
    assert reader.offset == 20
    assert header.tx_sequence_id == TxSequenceID(ordinal=7, time_stamp=0x65000000)
    assert (header.tx_sequence_number, header.previous_tx_sequence_number) == (2, 1)
    assert header.connector_qm_guid is None
    assert header.encode() == START


def test_a_header_has_36_bytes_with_a_connector() -> None:
    """MQQB-078, MQQB-084: its GUID is carried as it is."""
    data = b"\x57" + START[1:] + OTHER.bytes_le
    header = TransactionHeader.read(Reader(data))
    assert header.connector_qm_guid == OTHER
    assert header.encode() == data


def test_the_flags_hold_the_place_in_the_transaction_and_its_number() -> None:
    """MQQB-079, MQQB-080: 20 bits of ID."""
    assert TransactionFlags.split(0x00ABCDEE) == {
        "CG": 0,
        "FA": 1,
        "FM": 1,
        "LM": 1,
        "ID": 0xABCDE,
        "X": 0,
    }
    assert TransactionHeader(flags=0x00FFFFF0).transaction_id == 0xFFFFF


def test_unused_flags_are_kept_and_tell_nothing() -> None:
    """MQQB-082, AMB-5."""
    data = START[:3] + b"\xff" + START[4:]
    header = TransactionHeader.read(Reader(data))
    assert header.transaction_id == TransactionHeader.read(Reader(START)).transaction_id
    assert header.encode() == data


def test_a_new_header_is_in_no_sequence() -> None:
    """MQQB-081: number 0 and no predecessor."""
    assert TransactionHeader().encode() == bytes(20)
    assert TxSequenceID().number == 0


def test_sequences_compare_by_time_first() -> None:
    """MQQB-083."""
    assert TxSequenceID(2, 1).number == 0x00000001_00000002
    assert TxSequenceID(0, 2).number > TxSequenceID(0xFFFFFFFF, 1).number


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (START[:10], "TxSequenceID.TimeStamp", 8),
        (b"\x57" + START[1:] + bytes(15), "ConnectorQMGuid", 20),
    ],
)
def test_a_header_cut_short_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010."""
    assert refusal(TransactionHeader.read, data) == (f"TransactionHeader.{field}", offset)
