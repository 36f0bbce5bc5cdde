"""Where the parts of messages with a SecurityHeader are."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import parcel

from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import ProtectedLayout, after_names, properties_offset, u32

FIRST = {"security_id": b"sender", "signature": b"one", "sender_cert": b"a certificate"}


def made(body: str = "body", flags: int = 0x41, place: bool = False, **changed: bytes) -> bytes:
    header = SecurityHeader.make(flags, **{**FIRST, **changed})
    return parcel(
        body, place=(1, 1, 0) if place else None, headers=OptionalHeaders(security=header)
    )


@pytest.mark.parametrize("place", [False, True], ids=["plain", "transactional"])
def test_the_parts_are_where_a_reader_finds_them(place: bool) -> None:
    "[MS-MQMQ] 2.2.20.6"
    packet = made(place=place, encryption_key=b"a key")
    layout, view = ProtectedLayout(packet), PacketView.parse(packet)
    security = view.message().security
    assert security is not None
    assert layout.security == view.security_offset
    assert layout.properties == properties_offset(packet)
    assert packet[layout.key] == security.encryption_key == b"a key"
    assert packet[layout.signature] == security.signature == b"one"
    assert layout.header == security
    start, size, taken = layout.body_range(packet)
    assert packet[start : start + size] == view.body
    assert (start, size) == (view.body_offset, taken)


@pytest.mark.parametrize("place", [False, True], ids=["plain", "transactional"])
def test_what_differs_in_signature_key_and_body_fits(place: bool) -> None:
    layout = ProtectedLayout(made(place=place, encryption_key=b"1234"))
    assert layout.fits(made("other body", place=place, encryption_key=b"5678", signature=b"two"))


@pytest.mark.parametrize(
    "other",
    [
        made(flags=0xC1),
        made(security_id=b"no one"),
        made(signature=b"four"),
        made(sender_cert=b"a_certificate"),
        made(provider_info=b"provider"),
        made(encryption_key=b"key"),
        made(place=True),
        parcel("body"),
        parcel("body", to="DIRECT=OS:here\\other"),
        made()[:60],
    ],
)
def test_nothing_else_does(other: bytes) -> None:
    layout = ProtectedLayout(made())
    assert layout.fits(made())
    assert not layout.fits(other)


def test_another_source_does_not_fit() -> None:
    header = SecurityHeader.make(0x41, **FIRST)
    other = parcel("body", source=UUID(int=5), headers=OptionalHeaders(security=header))
    assert not ProtectedLayout(made()).fits(other)


def test_a_message_of_a_connector_fits_none() -> None:
    "Its TransactionHeader is longer ([MS-MQMQ] 2.2.20.5)."
    plain = made(place=True)
    at = after_names(plain, u32(plain, 60)[0])
    longer = bytearray(plain[: at + 20] + bytes(16) + plain[at + 20 :])
    longer[at] |= TransactionFlags.CG
    longer[8:12] = len(longer).to_bytes(4, "little")
    packet = bytes(longer)
    PacketView.parse(packet)
    assert ProtectedLayout(packet).header == ProtectedLayout(plain).header
    assert not ProtectedLayout(packet).fits(packet)
    assert not ProtectedLayout(plain).fits(packet)
