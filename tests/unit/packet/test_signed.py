"""What signatures cover: every field, one by one (the vectors have the bytes)."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.vectors.test_security import SIGNED, certificate_key, message_of

from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.signed import (
    find_signature,
    list_bytes,
    name_bytes,
    signed_bytes,
    signed_fields,
)
from openmsmq.properties.message import SignatureType

SIG10, SIG20, SIG30 = (
    SignatureType.MSMQ_1_0,
    SignatureType.MSMQ_2_0,
    SignatureType.MSMQ_3_0,
)
MANY = message_of(next(vector for vector in SIGNED if vector["name"] == "sig30-sha512"))
ONE = message_of(next(vector for vector in SIGNED if vector["name"] == "sig20-sha512"))


def covering(message: UserMessage, other: UserMessage) -> set[SignatureType]:
    """The kinds of signature that notice the difference of two messages."""
    return {
        kind
        for kind in (SIG10, SIG20, SIG30)
        if signed_bytes(signed_fields(message), kind, message.properties.body)
        != signed_bytes(signed_fields(other), kind, other.properties.body)
    }


def with_properties(message: UserMessage, **changes: object) -> UserMessage:
    return replace(message, properties=replace(message.properties, **changes))  # type: ignore[arg-type]


def with_user(message: UserMessage, **changes: object) -> UserMessage:
    return replace(message, user=replace(message.user, **changes))  # type: ignore[arg-type]


DIRECT = QueueReference(ReferenceCode.DIRECT, raw="OS:x\0".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("changed", "noticed"),
    [
        (with_properties(ONE, correlation_id=bytes(20)), {SIG10, SIG20, SIG30}),
        (with_properties(ONE, application_tag=1), {SIG10, SIG20, SIG30}),
        (with_properties(ONE, body_field=b"x" * 28), {SIG10, SIG20, SIG30}),
        (with_properties(ONE, label_utf16=b""), {SIG10, SIG20, SIG30}),
        (with_user(ONE, response=DIRECT), {SIG10, SIG20, SIG30}),
        (with_user(ONE, admin=DIRECT), {SIG10, SIG20, SIG30}),
        (with_properties(ONE, extension=b"x"), {SIG30}),
        (with_user(ONE, source_queue_manager=UUID(int=1)), {SIG20, SIG30}),
        (with_user(ONE, flags=ONE.user.flags ^ 0x20), {SIG20, SIG30}),
        (with_user(ONE, flags=ONE.user.flags ^ UserFlags.JN), {SIG20, SIG30}),
        (with_user(ONE, flags=ONE.user.flags ^ UserFlags.JP), {SIG20, SIG30}),
        (with_properties(ONE, flags=ONE.properties.flags ^ 1), {SIG20, SIG30}),
        (with_properties(ONE, flags=ONE.properties.flags ^ 0x80), set()),
        (with_properties(ONE, message_class=1), {SIG20, SIG30}),
        (with_properties(ONE, body_type=1), {SIG20, SIG30}),
        (with_user(ONE, connector_type=UUID(int=1)), {SIG20, SIG30}),
        (with_user(ONE, connector_type=UUID(int=0)), set()),
        (with_user(ONE, destination=DIRECT), {SIG20}),
        (replace(ONE, base=replace(ONE.base, flags=ONE.base.flags ^ 1)), {SIG20, SIG30}),
        (with_user(ONE, sent_time=1), set()),
        (with_user(ONE, message_id=1), set()),
        (with_user(ONE, time_to_be_received=1), set()),
        (with_user(ONE, flags=ONE.user.flags | 3), set()),
    ],
)
def test_each_field(changed: UserMessage, noticed: set[SignatureType]) -> None:
    "MSEC-024 to MSEC-030, MSEC-035, MSEC-038, MSEC-061"
    assert covering(ONE, changed) == noticed
    if SIG20 in noticed:
        assert (
            find_signature(signed_fields(changed), certificate_key(ONE), changed.properties.body)
            is None
        )


def test_names_are_hashed_as_on_the_wire() -> None:
    "MSEC-032, MSEC-033, MSEC-034"
    assert name_bytes(QueueReference()) == b""
    assert name_bytes(QueueReference(ReferenceCode.SAME_AS_ADMIN)) == b""
    assert name_bytes(QueueReference(ReferenceCode.PRIVATE_ON_SOURCE, number=7)) == b"\7\0\0\0"
    assert len(name_bytes(QueueReference(ReferenceCode.PUBLIC, UUID(int=5)))) == 16
    assert len(name_bytes(QueueReference(ReferenceCode.PRIVATE_ELSEWHERE, UUID(int=5), 7))) == 20
    assert name_bytes(DIRECT) == DIRECT.raw


def test_the_list_of_destinations_counts_without_its_header() -> None:
    "MSEC-036"
    assert MANY.multi_queue is not None
    destination = MANY.multi_queue.destination
    assert len(list_bytes(destination)) == destination.header_size - 12


def test_a_signature_in_the_header_counts_alone() -> None:
    "MSEC-051"
    assert MANY.security is not None
    assert signed_fields(MANY).signature
    key, body = certificate_key(MANY), MANY.properties.body
    wrong = replace(MANY, security=replace(MANY.security, signature=bytes(256), signature_size=256))
    assert find_signature(signed_fields(MANY), key, body) is SIG30
    assert find_signature(signed_fields(wrong), key, body) is None


def test_without_a_signature_none_is_right() -> None:
    assert ONE.security is not None
    unsigned = replace(ONE, security=replace(ONE.security, signature=b""))
    assert (
        find_signature(signed_fields(unsigned), certificate_key(ONE), ONE.properties.body) is None
    )
