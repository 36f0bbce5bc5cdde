"""PDUs: header, bodies, and the split of a stream into them."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.pdu import (
    WHOLE,
    Bind,
    BindAck,
    ContextElement,
    ContextResult,
    NakReason,
    Pdu,
    PduFlags,
    PduFramer,
    PduType,
    RequestHeader,
    ResponseHeader,
    Verifier,
    encode_bind_nak,
    encode_call,
    encode_fault,
    encode_pdu,
    read_bind_nak,
    read_fault,
)
from openmsmq.rpc.syntax import NDR, NDR64, SyntaxId

INTERFACE = SyntaxId.of("1a9134dd-7b39-45ba-ad88-44d01ca47f28", 1)
OBJECT = UUID("00112233-4455-6677-8899-aabbccddeeff")


def parse(kind: PduType, body: bytes, verifier: Verifier | None = None, flags: int = WHOLE) -> Pdu:
    return Pdu.parse(encode_pdu(kind, flags, 7, body, verifier))


def test_a_header_says_what_a_pdu_is() -> None:
    pdu = parse(PduType.ORPHANED, b"")
    assert (pdu.kind, pdu.flags, pdu.call_id, pdu.version) == (PduType.ORPHANED, WHOLE, 7, (5, 0))
    assert pdu.is_first
    assert pdu.is_last
    assert pdu.verifier is None


def test_the_verifier_lies_before_the_end_by_its_length() -> None:
    """MQRR-425"""
    pdu = parse(PduType.AUTH3, bytes(4), Verifier(10, 6, 79, b"token", 2))
    assert pdu.verifier == Verifier(10, 6, 79, b"token", 2)
    assert pdu.end == 20


def test_big_endian_pdus_are_read() -> None:
    header = pack(">BBBB4sHHI", 5, 0, 0, 0x83, bytes(4), 44, 0, 7)
    pdu = Pdu.parse(header + pack(">IHH", 4, 1, 9) + OBJECT.bytes + b"stub")
    assert pdu.order == ">"
    assert RequestHeader.read(pdu) == RequestHeader(4, 1, 9, OBJECT, 40)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes(15), "needs"),
        (pack("<BBBB4sHHI", 5, 0, 0, 3, b"\x10\0\0\0", 17, 0, 1), "17 is not 16"),
        (pack("<BBBB4sHHI", 5, 0, 0, 3, b"\x10\0\0\0", 16, 1, 1), "1 bytes do not fit"),
        (pack("<BBBB4sHHI", 5, 0, 0, 3, b"\x10\0\0\0", 16, 65535, 1), "65535 bytes do not fit"),
        (
            encode_pdu(PduType.AUTH3, 3, 1, bytes(4), Verifier(10, 6, 0, b"t", 5)),
            "5 bytes do not fit",
        ),
    ],
)
def test_lengths_that_contradict_each_other_are_malformed(data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        Pdu.parse(data)


def test_a_stream_is_split_wherever_it_was_cut() -> None:
    stream = b"".join(encode_pdu(PduType.REQUEST, WHOLE, n, bytes(n)) for n in range(8, 20))
    for size in (1, 7, 16, 30, len(stream)):
        framer = PduFramer()
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        pdus = [pdu for piece in pieces for pdu in framer.feed(piece)]
        assert [pdu.call_id for pdu in pdus] == list(range(8, 20))
        assert framer.pending == 0


@pytest.mark.parametrize("size", [0, 15, 6000])
def test_a_length_out_of_bounds_is_malformed_before_the_rest_has_come(size: int) -> None:
    header = pack("<BBBB4sHHI", 5, 0, 0, 3, b"\x10\0\0\0", size, 0, 1)
    with pytest.raises(Malformed, match=f"a PDU cannot have {size} bytes"):
        list(PduFramer(5840).feed(header))


def test_another_protocol_is_malformed_from_its_first_byte_on() -> None:
    """MQRR-410"""
    with pytest.raises(Malformed, match="version 71 is not 5"):
        list(PduFramer().feed(b"G"))


def test_a_bind_has_contexts_with_transfer_syntaxes() -> None:
    elements = (ContextElement(0, INTERFACE, (NDR, NDR64)), ContextElement(5, INTERFACE, ()))
    bind = Bind(5840, 4280, 0x53F0, elements)
    assert Bind.read(parse(PduType.BIND, bind.encode())) == bind


def test_a_bind_whose_contexts_are_cut_short_is_malformed() -> None:
    body = Bind(5840, 5840, 0, (ContextElement(0, INTERFACE, (NDR,)),)).encode()
    with pytest.raises(Malformed):
        Bind.read(parse(PduType.BIND, body[:-1]))


@pytest.mark.parametrize("address", ["", "2103", "12345"])
def test_a_bind_ack_has_an_address_of_any_length(address: str) -> None:
    ack = BindAck(5840, 5840, 1, address, (ContextResult(0, 0, NDR), ContextResult(2, 1, NDR64)))
    assert BindAck.read(parse(PduType.BIND_ACK, ack.encode())) == ack


def test_a_bind_nak_has_its_reason() -> None:
    body = encode_bind_nak(NakReason.LOCAL_LIMIT_EXCEEDED)
    assert read_bind_nak(parse(PduType.BIND_NAK, body)) == NakReason.LOCAL_LIMIT_EXCEEDED


def test_an_object_lies_between_the_header_of_a_request_and_its_stub() -> None:
    body = encode_call(4, 1, 9)
    flags = WHOLE | PduFlags.OBJECT_UUID
    request = RequestHeader.read(
        parse(PduType.REQUEST, body + OBJECT.bytes_le + b"stub", flags=flags)
    )
    assert request == RequestHeader(4, 1, 9, OBJECT, 40)
    assert RequestHeader.read(parse(PduType.REQUEST, body)).object_uuid is None


def test_a_response_has_its_stub_behind_24_bytes() -> None:
    assert ResponseHeader.read(parse(PduType.RESPONSE, encode_call(4, 1, 0))) == ResponseHeader(
        4, 1, 24
    )


def test_a_fault_has_32_bytes_and_no_stub() -> None:
    """MQRR-434"""
    assert len(encode_pdu(PduType.FAULT, WHOLE, 1, encode_fault(0, 0xC00E0003))) == 32


def test_stub_data_of_a_fault_are_ignored() -> None:
    """MQRR-435"""
    body = encode_fault(0, 0xC00E0003) + b"something"
    assert read_fault(parse(PduType.FAULT, body)) == 0xC00E0003
