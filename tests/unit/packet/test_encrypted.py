"""Packets whose bodies are encrypted, and back."""

from __future__ import annotations

import pytest

from openmsmq import limits
from openmsmq.errors import MessageTooLarge
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.encrypted import (
    asking_for_privacy,
    is_fitting,
    with_cipher,
    without_cipher,
)
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import EncryptionAlgorithm, PrivacyLevel

AES, LEVEL = EncryptionAlgorithm.AES_256, PrivacyLevel.AES
BUILDER = PacketBuilder(NO_GUID, parse_format_name("DIRECT=OS:there\\private$\\q"))
SENDER = SecurityHeader.make(0x81, security_id=bytes.fromhex("010100000000000507000000"))
EACH = pytest.mark.parametrize(
    "headers",
    [
        OptionalHeaders(),
        OptionalHeaders(security=SENDER),
        OptionalHeaders(transaction=TransactionHeader(), security=SENDER),
    ],
    ids=["plain", "sender", "transaction"],
)


@EACH
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 100])
def test_a_packet_is_encrypted_and_comes_back(headers: OptionalHeaders, size: int) -> None:
    "MSEC-090, MSEC-110, MSEC-111, MSEC-112"
    body = b"x" * size
    clear = BUILDER.build(body, label="Order", extension=b"ext", headers=headers)
    asked = asking_for_privacy(clear, LEVEL, AES)
    assert len(asked) == len(clear)
    view = PacketView.parse(asked)
    assert (view.privacy_level, view.is_encrypted, view.body) == (5, False, body)
    cipher = b"c" * (size // 16 * 16 + 16)
    sent = with_cipher(asked, LEVEL, AES, b"blob of a key", cipher)
    found = PacketView.parse(sent).message()
    assert found.security is not None
    assert (found.security.encryption_key, found.security.provider_info) == (b"blob of a key", b"")
    assert found.properties.body_field == cipher
    assert (found.properties.message_size, found.base.packet_size) == (size, len(sent))
    assert PacketView(sent).is_encrypted
    assert (found.properties.label, found.properties.extension) == ("Order", b"ext")
    back = without_cipher(sent, body)
    stored = PacketView.parse(back)
    assert (stored.body, stored.is_encrypted, stored.privacy_level) == (body, False, 5)
    if headers.security is not None:
        assert back == asked


def test_what_does_not_fit_into_a_packet_is_an_error() -> None:
    "MSEC-113"
    clear = BUILDER.build(b"")
    with pytest.raises(MessageTooLarge):
        with_cipher(clear, LEVEL, AES, b"", bytes(limits.PACKET_SIZE_MAX))


def test_levels_and_their_algorithms() -> None:
    "MSEC-098, MSEC-122, MQQB-074"
    assert is_fitting(5, AES)
    assert is_fitting(1, EncryptionAlgorithm.RC2)
    assert not is_fitting(3, AES)
    assert not is_fitting(5, EncryptionAlgorithm.RC4)
    assert not is_fitting(2, AES)
    assert not is_fitting(5, 0x6603)
    assert not is_fitting(0, 0)
