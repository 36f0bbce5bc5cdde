"""Signatures of clients elsewhere, for whom this manager makes the packet.

Programs here pack and sign their messages themselves. A client without a queue manager signs, too,
but only says what it has signed; what counts is what this manager finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from openmsmq.engine.arrivals.examination import Examiner
from openmsmq.errors import FailVerifySignatureEx, Malformed, MessageNotAuthenticated
from openmsmq.names.base import FormatName
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.properties.message import SignatureType


class GivenSignature(NamedTuple):
    """A signature, and what it is said to be."""

    security: SecurityHeader
    "With the signature, the certificate and the sender."
    algorithm: int
    kind: SignatureType
    destination: FormatName
    "The queue as the client calls it, which is signed."

    @property
    def headers(self) -> OptionalHeaders:
        """The parts of a packet that are not verified yet."""
        return OptionalHeaders(security=self.security, hash_algorithm=self.algorithm)


def verified_headers(
    given: GivenSignature,
    pack: Callable[[OptionalHeaders], bytes],
    examiner: Examiner,
    now: float,
    *,
    authenticate: bool,
) -> OptionalHeaders:
    """The same for a message whose signature was verified ([MS-MQQB] 3.1.5.8.3).

    `pack` makes the packet as it was signed. A queue that demands to `authenticate` wants to know
    the sender, too, unless the policy does without.
    """
    try:
        found = examiner.examine(pack(given.headers), now)
    except Malformed as error:
        raise FailVerifySignatureEx(str(error)) from error
    if found.fault is not None or found.kind is not given.kind:
        raise FailVerifySignatureEx(
            "the signature is not one of a registered certificate over this message; the queue is"
            f" signed as {given.destination}"
        )
    if authenticate and found.sender is None and not examiner.policy.takes_unidentified:
        raise MessageNotAuthenticated("the signature names no sender")
    security, algorithm = given.security, given.algorithm
    return OptionalHeaders(security=security, hash_algorithm=algorithm, verified=found.kind)
