"""What is fuzzed of message security: certificates, key blobs, and packets that are protected."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from openmsmq.engine.arrivals.examination import Examiner, Keyring, SecurityPolicy
from openmsmq.errors import InvalidCertificate, Malformed
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.probe import judge
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    ALGORITHMS,
    EncryptionAlgorithm,
    HashAlgorithm,
    SignatureType,
)
from openmsmq.security.keys import PublicKeyBlob
from openmsmq.security.session_keys import blob_of, public_key_of
from openmsmq.security.x509 import decode_certificate
from tests.signers import ALICE, VALID, der_of, exchange_key

WEAK = frozenset({HashAlgorithm.NONE, HashAlgorithm.MD2})
"MD2 needs an extra."


@cache
def examiner() -> Examiner:
    """One that takes everything it can."""
    found = Examiner()
    found.policy = SecurityPolicy(
        hashes=frozenset(HashAlgorithm) - WEAK,
        signatures=frozenset(SignatureType),
        key_bits_min=0,
        ciphers=frozenset(
            (level, one)
            for level, kinds in ALGORITHMS.items()
            for one in kinds
            if one is not EncryptionAlgorithm.RC2
        ),
    )
    found.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key(),))
    return found


def certificate(data: bytes) -> None:
    """A certificate, or the error that says that it is none; a key that can be used."""
    with suppress(InvalidCertificate):
        found = decode_certificate(data)
        assert found.der == data
        assert found.key is None or found.key.is_usable
        if found.key is not None:
            found.key.recover(data[: found.key.size])


def key_blob(data: bytes) -> None:
    """Key blobs: read and written alike, and unwrapped to a key of the right length or to none."""
    with suppress(Malformed):
        blob = PublicKeyBlob.decode(data)
        key = public_key_of(blob)
        if key.size == len(blob.modulus):
            assert blob_of(key, blob.algorithm) == blob
    for algorithm in (EncryptionAlgorithm.AES_256, EncryptionAlgorithm.RC4):
        found = exchange_key().unwrap(algorithm, data)
        assert found is None or len(found.key) in (5, 16, 32)


def protected(data: bytes) -> None:
    """A packet is examined: it is clear and sound afterwards, or refused as it came."""
    try:
        packet = decode_packet(data)
    except Malformed:
        return
    if not isinstance(packet, UserMessage) or packet.session is not None:
        return
    judge(packet)
    try:
        found = examiner().examine(data, VALID)
    except Malformed:
        return
    if found.fault is not None:
        assert found.packet == data
        return
    security = PacketView(found.packet).security
    assert security is None or not security.flags & SecurityFlags.EB
    if not packet.surplus:
        PacketView.parse(found.packet)


SECURITY_TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (certificate, key_blob, protected)
}
