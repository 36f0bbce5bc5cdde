"""What doctor says of signed and encrypted messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.signers import der_of

from openmsmq.access.exchange_keys import KEYS_FILE
from openmsmq.access.senders import SenderCertificates
from openmsmq.cli.doctor import message_security as module
from openmsmq.cli.doctor.message_security import weak_protection
from openmsmq.service.backup import write_down
from openmsmq.service.configuration import Config


def weak(directory: Path, **given: Any) -> list[str]:
    write_down(Config(data=directory, **given), "shop")
    return [found.text for found in weak_protection(directory)]


def test_the_defaults_are_sound(tmp_path: Path) -> None:
    assert weak(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"security_hashes": ("sha512", "sha1", "md5")}, "security.hashes has sha1, md5"),
        ({"security_signatures": ("1.0", "2.0")}, "security.signatures has 1.0"),
        ({"security_ciphers": ("aes", "rc4-40")}, "security.ciphers has rc4-40"),
        ({"security_key_bits_min": 1024}, "keys of 1024 bits count"),
        ({"security_accept_unidentified": True}, "anyone can make"),
    ],
)
def test_what_weakens_messages_is_named(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    "MSEC-202"
    [found] = weak(tmp_path, **given)
    assert words in found


def test_certificates_with_which_no_signature_counts(tmp_path: Path) -> None:
    "MSEC-202"
    SenderCertificates(tmp_path).register(der_of(), "user:alice")
    [found] = weak(tmp_path, security_key_bits_min=3072)
    assert "of user:alice has a key of 2048 bits: what it signs is refused" in found
    assert weak(tmp_path, security_key_bits_min=2048) == []


def test_certificates_that_end_and_keys_that_others_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SenderCertificates(tmp_path).register(der_of(), "user:alice")
    assert weak(tmp_path) == []
    monkeypatch.setattr(module, "_SOON", 100 * 365 * 86400)
    (tmp_path / KEYS_FILE).touch(0o644)
    ends, read = weak(tmp_path)
    assert "user:alice ends" in ends
    assert "can read" in read
