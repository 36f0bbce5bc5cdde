"""The three messages of NTLM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.ntlm_messages import (
    OFFERED,
    Authenticate,
    AvId,
    Challenge,
    Negotiate,
    decode_target_info,
    encode_target_info,
    split_mic,
)

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "rpc" / "pdus.json").read_text())[
    "vectors"
]
CHALLENGE = bytes.fromhex(VECTORS["bind-ack-ntlm"])[116:]


def test_the_example_challenge_is_read_and_written() -> None:
    """[MS-NLMP] 4.2.4.3."""
    message = Challenge.decode(CHALLENGE)
    assert message.flags == 0xE28A8233
    assert message.challenge.hex() == "0123456789abcdef"
    assert message.target_name == "Server"
    items = decode_target_info(message.target_info)
    assert items[AvId.NB_DOMAIN_NAME].decode("utf-16-le") == "Domain"
    assert encode_target_info(items) == message.target_info
    assert Challenge.decode(message.encode()) == message


def test_a_negotiate_has_flags() -> None:
    assert Negotiate.decode(Negotiate(OFFERED).encode()) == Negotiate(OFFERED)
    assert len(Negotiate(OFFERED).encode()) == 40


def test_an_authenticate_has_names_a_response_and_a_key() -> None:
    message = Authenticate(OFFERED, "Domain", "Ünal", "COMPUTER", b"response", bytes(16))
    assert Authenticate.decode(message.encode()) == message


def test_the_mic_lies_at_a_fixed_place() -> None:
    message = Authenticate(OFFERED, "", "u", "", b"", b"")
    mic, without = split_mic(message.encode(b"M" * 16))
    assert mic == b"M" * 16
    assert without == message.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"NTLMSSP\0",
        b"something else",
        CHALLENGE[:30],
        CHALLENGE[:12] + b"\xff\xff\0\0\xff\xff\xff\xff" + CHALLENGE[20:],
        CHALLENGE[:8] + b"\x03" + CHALLENGE[9:],
    ],
)
def test_what_is_no_challenge_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        Challenge.decode(data)


def test_target_information_without_an_end_is_malformed() -> None:
    with pytest.raises(Malformed):
        decode_target_info(encode_target_info({AvId.NB_COMPUTER_NAME: b"ab"})[:-4])
