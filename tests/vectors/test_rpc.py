"""PDUs of DCE/RPC, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

from openmsmq.rpc.pdu import (
    WHOLE,
    Bind,
    BindAck,
    ContextAnswer,
    ContextElement,
    ContextResult,
    NakReason,
    Pdu,
    PduType,
    RequestHeader,
    Verifier,
    encode_bind_nak,
    encode_call,
    encode_fault,
    encode_pdu,
    read_fault,
)
from openmsmq.rpc.syntax import NDR, NDR64, NO_SYNTAX, SyntaxId

VECTORS = json.loads((Path(__file__).parent / "rpc" / "pdus.json").read_text())["vectors"]
REMOTE_READ = SyntaxId.of("1a9134dd-7b39-45ba-ad88-44d01ca47f28", 1)
FEATURES = SyntaxId(UUID(bytes_le=bytes.fromhex("2c1cb76c129840450300000000000000")), 1)


def test_a_bind_without_authentication() -> None:
    body = Bind(5840, 5840, 0, (ContextElement(0, REMOTE_READ, (NDR,)),)).encode()
    assert encode_pdu(PduType.BIND, WHOLE, 1, body).hex() == VECTORS["bind"]


def test_a_bind_ack_without_authentication() -> None:
    results = (ContextResult(ContextAnswer.ACCEPTANCE, 0, NDR),)
    body = BindAck(5840, 5840, 0x53F0, "2103", results).encode()
    assert encode_pdu(PduType.BIND_ACK, WHOLE, 1, body).hex() == VECTORS["bind-ack"]


def test_a_bind_with_three_proposals_and_a_token() -> None:
    pdu = Pdu.parse(bytes.fromhex(VECTORS["bind-ntlm"]))
    bind = Bind.read(pdu)
    syntaxes = [NDR, NDR64, FEATURES]
    assert bind.contexts == tuple(
        ContextElement(at, REMOTE_READ, (syntax,)) for at, syntax in enumerate(syntaxes)
    )
    assert pdu.verifier is not None
    assert (pdu.verifier.auth_type, pdu.verifier.auth_level) == (10, 6)
    assert pdu.verifier.token.startswith(b"NTLMSSP\0\x01")
    again = encode_pdu(PduType.BIND, 0x17, 1, bind.encode(), pdu.verifier)
    assert again.hex() == VECTORS["bind-ntlm"]


def test_a_bind_ack_with_three_results_and_a_token() -> None:
    pdu = Pdu.parse(bytes.fromhex(VECTORS["bind-ack-ntlm"]))
    ack = BindAck.read(pdu)
    assert ack.results == (
        ContextResult(ContextAnswer.ACCEPTANCE, 0, NDR),
        ContextResult(ContextAnswer.PROVIDER_REJECTION, 2, NO_SYNTAX),
        ContextResult(ContextAnswer.NEGOTIATE_ACK, 3, NO_SYNTAX),
    )
    assert pdu.verifier is not None
    again = encode_pdu(PduType.BIND_ACK, 0x17, 1, ack.encode(), pdu.verifier)
    assert again.hex() == VECTORS["bind-ack-ntlm"]


def test_an_auth3_has_four_bytes_before_its_token() -> None:
    token = b"NTLMSSP\0\x03\0\0\0\x18\0\x18\0" + bytes(232 - 16)
    pdu = encode_pdu(PduType.AUTH3, 0x17, 1, bytes(4), Verifier(10, 6, 0, token))
    assert pdu.hex().startswith(VECTORS["auth3-head"])
    assert len(pdu) == 260


def test_a_request_and_its_response() -> None:
    request = encode_pdu(PduType.REQUEST, WHOLE, 2, encode_call(0, 0, 0))
    assert request.hex() == VECTORS["port-request"]
    assert RequestHeader.read(Pdu.parse(request)).opnum == 0
    body = encode_call(4, 0, 0) + (2103).to_bytes(4, "little")
    assert encode_pdu(PduType.RESPONSE, WHOLE, 2, body).hex() == VECTORS["port-response"]


def test_a_fault() -> None:
    fault = encode_pdu(PduType.FAULT, WHOLE, 2, encode_fault(0, 0xC00E0003))
    assert fault.hex() == VECTORS["fault"]
    assert read_fault(Pdu.parse(fault)) == 0xC00E0003


def test_a_bind_nak() -> None:
    body = encode_bind_nak(NakReason.PROTOCOL_VERSION_NOT_SUPPORTED)
    assert encode_pdu(PduType.BIND_NAK, WHOLE, 1, body).hex() == VECTORS["bind-nak"]
