"""Bodies under session keys."""

from __future__ import annotations

import subprocess
import sys

import pytest

from openmsmq.errors import EncryptionProviderNotSupported
from openmsmq.properties.message import EncryptionAlgorithm, PrivacyLevel
from openmsmq.security.ciphers import KEY_SIZES, BodyCipher, key_size

pytest.importorskip("cryptography")
EACH = pytest.mark.parametrize("algorithm", list(KEY_SIZES))


def key_of(algorithm: EncryptionAlgorithm) -> bytes:
    if algorithm is EncryptionAlgorithm.RC2:
        pytest.importorskip("Crypto", reason="RC2 needs the extra legacy")
    return bytes(range(1, KEY_SIZES[algorithm] + 1))


@EACH
@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 17, 1000])
def test_a_body_comes_back(algorithm: EncryptionAlgorithm, size: int) -> None:
    "MSEC-104, MSEC-105, MSEC-106"
    key, body = key_of(algorithm), b"x" * size
    data = BodyCipher(algorithm, key).encrypt(body)
    assert BodyCipher(algorithm, key).decrypt(data) == body
    block = {EncryptionAlgorithm.RC4: 1, EncryptionAlgorithm.RC2: 8}.get(algorithm, 16)
    assert len(data) == (size if block == 1 else (size // block + 1) * block)


@EACH
def test_every_body_begins_anew(algorithm: EncryptionAlgorithm) -> None:
    "MSEC-105: whatever was encrypted and decrypted before with the same key."
    key = key_of(algorithm)
    one = BodyCipher(algorithm, key)
    for body in (b"first", b"x" * 100, b"", b"first", b"y" * 16):
        data = BodyCipher(algorithm, key).encrypt(body)
        assert one.encrypt(body) == data
        assert one.decrypt(data) == body
        one.decrypt(bytes(32))


@pytest.mark.parametrize("algorithm", [a for a in KEY_SIZES if a.name.startswith("AES")])
def test_openssl_reads_what_was_encrypted(algorithm: EncryptionAlgorithm) -> None:
    "MSEC-105: the independent checker."
    key = key_of(algorithm)
    data = BodyCipher(algorithm, key).encrypt(b"a body of some length")
    command = ["openssl", "enc", "-d", f"-aes-{len(key) * 8}-cbc", "-K", key.hex(), "-iv", "0" * 32]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    assert done.stdout == b"a body of some length"


@EACH
def test_a_body_of_a_wrong_length_is_none(algorithm: EncryptionAlgorithm) -> None:
    "MSEC-133"
    if algorithm is EncryptionAlgorithm.RC4:
        return
    assert BodyCipher(algorithm, key_of(algorithm)).decrypt(b"") is None
    assert BodyCipher(algorithm, key_of(algorithm)).decrypt(bytes(33)) is None


@pytest.mark.parametrize("last", [0, 17, 255])
def test_padding_that_cannot_be_is_refused(last: int) -> None:
    "MSEC-129"
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(32)
    machine = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    data = machine.update(bytes(15) + bytes((last,)))
    assert BodyCipher(EncryptionAlgorithm.AES_256, key).decrypt(data) is None


def test_every_byte_of_the_padding_counts() -> None:
    "MSEC-129"
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(32)
    for place in range(12, 15):
        block = bytearray(b"x" * 12 + b"\4" * 4)
        block[place] = 9
        machine = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
        data = machine.update(bytes(block))
        assert BodyCipher(EncryptionAlgorithm.AES_256, key).decrypt(data) is None


def test_as_much_is_compared_whatever_is_wrong_with_the_padding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MSEC-129: all of it at once, in a time that does not depend on what it is."""
    key = BodyCipher(EncryptionAlgorithm.AES_256, bytes(range(32)))
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    for last in (b"\x02\x02", b"\x01\x02", b"\x00\x00", b"\xff\xff"):
        data = key.encrypt(bytes(30) + last)[:32]  # without the padding of its own
        assert (key.decrypt(data) is not None) is (last == b"\x02\x02")
    assert len(compared) == 4
    assert all(len(one) == len(other) for one, other in compared)


def test_sizes_of_keys() -> None:
    "MSEC-100, MSEC-103"
    assert key_size(PrivacyLevel.BASE, EncryptionAlgorithm.RC4) == 5
    assert key_size(PrivacyLevel.ENHANCED, EncryptionAlgorithm.RC2) == 16
    assert key_size(PrivacyLevel.AES, EncryptionAlgorithm.AES_192) == 24


def test_rc2_needs_a_package_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Crypto.Cipher", None)
    rc2 = EncryptionAlgorithm.RC2
    with pytest.raises(EncryptionProviderNotSupported, match=r"openmsmq\[legacy\]"):
        BodyCipher(rc2, key_of(rc2)).encrypt(b"body")
