"""Signers, and keys of managers, for tests: made once, since RSA keys take their time."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import PROVIDERS, PrivacyLevel, ProviderType
from openmsmq.security.keys import CALG_RSA_KEYX, DirectoryPublicKey, DirectoryPublicKeys
from openmsmq.security.principals import principal_sid
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.session_keys import ExchangeKey, blob_of

KEYS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "vectors" / "security" / "security-keys.json").read_text()
)
VALID = 1_790_000_000
"When the certificates of the vectors are valid."
ALICE = principal_sid("user", "alice")


def der_of(name: str = "user-2048") -> bytes:
    """A certificate of the vectors."""
    return bytes.fromhex(next(one["der"] for one in KEYS["certificates"] if one["name"] == name))


@cache
def private_key(name: str) -> Any:
    """A private key of the vectors."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    raw = next(key["pkcs1_private_der"] for key in KEYS["keys"] if key["name"] == name)
    return serialization.load_der_private_key(bytes.fromhex(raw), password=None)


@cache
def signer(name: str = "user-2048") -> MessageSigner:
    """A signer with a key and a certificate of the vectors, for the user alice."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    raw = private_key(name).private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return MessageSigner(der_of(name), raw, ALICE)


@cache
def exchange_key(name: str = "user-2048", level: PrivacyLevel = PrivacyLevel.AES) -> ExchangeKey:
    """A key that others encrypt with for a manager of tests."""
    numbers = private_key(name).private_numbers()
    public = RsaPublicKey(numbers.public_numbers.n, numbers.public_numbers.e)
    return ExchangeKey(level, private_key(name), public, numbers.d)


def published(*keys: ExchangeKey) -> DirectoryPublicKeys:
    """What a manager with these keys tells others."""
    kinds = {PrivacyLevel.AES: ProviderType.RSA_AES}
    return DirectoryPublicKeys(
        tuple(
            DirectoryPublicKey(
                kinds.get(key.level, ProviderType.RSA_FULL),
                PROVIDERS[key.level],
                blob_of(key.public, CALG_RSA_KEYX).encode(),
            )
            for key in keys
        )
    )
