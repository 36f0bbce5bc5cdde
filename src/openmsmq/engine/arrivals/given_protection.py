"""Signatures and ciphers of clients elsewhere, for whom this manager makes the packet.

Programs here pack and sign their messages themselves. A client without a queue manager signs and
encrypts, too, but only says what it has done; what counts is what this manager finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from openmsmq.engine.arrivals.examination import Examiner
from openmsmq.errors import (
    CorruptedSecurityData,
    FailVerifySignatureEx,
    Malformed,
    MessageNotAuthenticated,
)
from openmsmq.names.base import FormatName
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    EncryptionAlgorithm,
    MessageClass,
    PrivacyLevel,
    SignatureType,
)


class GivenCipher(NamedTuple):
    """How a body is said to be encrypted."""

    level: PrivacyLevel
    algorithm: EncryptionAlgorithm


class GivenProtection(NamedTuple):
    """A signature or a session key, and what it is said to be."""

    security: SecurityHeader
    "With the signature, the certificate and the sender, and the key of an encrypted body."
    hash_algorithm: int
    kind: SignatureType
    "NONE for a message that is only encrypted."
    destination: FormatName
    "The queue as the client calls it, which is signed."
    cipher: GivenCipher | None = None

    @property
    def headers(self) -> OptionalHeaders:
        """The parts of a packet as the client made it."""
        level, algorithm = self.cipher or (0, 0)
        return OptionalHeaders(
            security=self.security,
            hash_algorithm=self.hash_algorithm,
            privacy_level=level,
            encryption_algorithm=algorithm,
        )


class CheckedMessage(NamedTuple):
    """What is stored of a message that was checked."""

    headers: OptionalHeaders
    body: bytes


def checked_message(
    given: GivenProtection,
    pack: Callable[[OptionalHeaders], bytes],
    examiner: Examiner,
    now: float,
    *,
    authenticate: bool,
) -> CheckedMessage:
    """A message whose body was decrypted and whose signature was verified ([MS-MQQB] 3.1.5.8.3).

    `pack` makes the packet as the client made it. A queue that demands to `authenticate` wants to
    know the sender, too, unless the policy does without.
    """
    try:
        found = examiner.examine(pack(given.headers), now)
    except Malformed as error:
        raise FailVerifySignatureEx(str(error)) from error
    if found.fault is MessageClass.NACK_BAD_ENCRYPTION:
        raise CorruptedSecurityData(
            "the body cannot be decrypted with a key of this manager, or not with a cipher that it"
            " takes (security.ciphers)"
        )
    if found.fault is not None or found.kind is not given.kind:
        raise FailVerifySignatureEx(
            "the signature is not one of a registered certificate over this message; the queue is"
            f" signed as {given.destination}"
        )
    if authenticate and found.sender is None and not examiner.policy.takes_unidentified:
        raise MessageNotAuthenticated("the signature names no sender")
    headers = OptionalHeaders(
        security=replace(given.security, encryption_key=b"", encryption_key_size=0),
        hash_algorithm=given.hash_algorithm,
        verified=found.kind,
    )
    return CheckedMessage(headers, PacketView(found.packet).body)
