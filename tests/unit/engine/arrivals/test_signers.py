"""Who signed a message: what its certificate and its sender say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.signers import ALICE, VALID, der_of
from tests.unit.engine.arrivals.test_examination import fault
from tests.unit.engine.station import parcel
from tests.unit.engine.world import ME

from openmsmq.engine.arrivals import signers as module
from openmsmq.engine.arrivals.examination import BAD_SIGNATURE
from openmsmq.engine.arrivals.signers import check_sender_id
from openmsmq.errors import Malformed
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityHeader, encode_provider
from openmsmq.properties.message import HashAlgorithm, MessageClass, SenderIdType
from openmsmq.security.x509 import decode_certificate


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("Some Smart Card Provider", MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER),
        ("microsoft base cryptographic provider, v1.0", BAD_SIGNATURE),
        ("", BAD_SIGNATURE),
    ],
)
def test_a_key_of_an_unknown_provider(
    provider: str, expected: MessageClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    "MSEC-060, MSEC-183"
    found = decode_certificate(der_of())
    monkeypatch.setattr(module, "_certificate", lambda der: replace(found, key=None))
    header = SecurityHeader.make(
        1,
        security_id=ALICE.encode(),
        signature=bytes(255) + b"\1",
        sender_cert=der_of(),
        provider_info=encode_provider(1, provider) if provider else b"",
    )
    headers = OptionalHeaders(security=header, hash_algorithm=HashAlgorithm.SHA512)
    assert fault(parcel("1", sent=VALID, headers=headers)) is expected


@pytest.mark.parametrize(
    ("kind", "sender", "field"),
    [
        (SenderIdType.NONE, b"", None),
        (SenderIdType.NONE, b"x", "SenderIdSize"),
        (SenderIdType.SID, ALICE.encode(), None),
        (SenderIdType.QUEUE_MANAGER, ME.bytes_le, None),
        (SenderIdType.QUEUE_MANAGER, ME.bytes_le + b"x", "SecurityID"),
        (3, b"", "SecurityHeader.Flags"),
    ],
)
def test_a_sender_is_named_in_the_way_that_the_header_says(
    kind: int, sender: bytes, field: str | None
) -> None:
    header = SecurityHeader.make(kind, security_id=sender)
    if field is None:
        check_sender_id(header)
        return
    with pytest.raises(Malformed) as caught:
        check_sender_id(header)
    assert (caught.value.field, caught.value.offset) == (field, 0)
