"""What a signature of a message covers, and which of its signatures are right ([MS-MQMQ] 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.headers.multi_queue import MQFAddressHeader
from openmsmq.packet.headers.properties import PropertyFlags
from openmsmq.packet.headers.user import UserFlags, UserHeader
from openmsmq.packet.message import UserMessage
from openmsmq.properties.message import HashAlgorithm, SignatureType
from openmsmq.security.digests import digest
from openmsmq.security.rsa import RsaPublicKey, matching_digest

NO_SIGNATURE: Final = (b"", bytes(4))
"Four zero bytes say that there is none here (MSEC-A07)."
NameBytes = tuple[bytes, bytes, bytes]
"What stands for the destination, the administration and the response queue."
_ACKNOWLEDGEMENTS: Final = PropertyFlags.PA | PropertyFlags.PR | PropertyFlags.NA | PropertyFlags.NR


def names_on_the_wire(user: UserHeader) -> NameBytes:
    """Destination, administration and response queue as they are hashed (MSEC-A01)."""
    return name_bytes(user.destination), name_bytes(user.admin), name_bytes(user.response)


def signed_bytes(
    message: UserMessage,
    kind: SignatureType,
    body: bytes,
    names: Callable[[UserHeader], NameBytes] = names_on_the_wire,
) -> bytes:
    """What is hashed for a signature ([MS-MQMQ] 2.5.1 - 2.5.3), values without lengths (MSEC-A42).

    `body` is the clear one; `names` says which bytes stand for the names of queues, which no
    specification does: those on the wire, without count and padding (MSEC-A01).
    """
    user, properties = message.user, message.properties
    destination, admin, response = names(user)
    parts = [
        properties.correlation_id,
        properties.application_tag.to_bytes(4, "little"),
        body,
        properties.label_utf16,
        response,
        admin,
    ]
    if kind is SignatureType.MSMQ_1_0:
        return b"".join(parts)
    if kind is SignatureType.MSMQ_3_0:
        many = message.multi_queue
        parts += (properties.extension, b"" if many is None else list_bytes(many.destination))
    connector = user.connector_type
    parts += (
        user.source_queue_manager.bytes_le,
        bytes(
            (
                (user.flags & UserFlags.DM) >> 5,
                message.base.flags & 7,
                (user.flags & (UserFlags.JN | UserFlags.JP)) >> 8,
                properties.flags & _ACKNOWLEDGEMENTS,
            )
        ),
        properties.message_class.to_bytes(2, "little"),
        properties.body_type.to_bytes(4, "little"),
        bytes(16) if connector is None else connector.bytes_le,
    )
    if kind is SignatureType.MSMQ_2_0:
        parts.append(destination)
    return b"".join(parts)


def name_bytes(reference: QueueReference) -> bytes:
    """The name of a queue as it is hashed (MSEC-A01): nothing for none, and for "same as admin"."""
    return reference.raw if reference.code is ReferenceCode.DIRECT else reference.encode()


def list_bytes(header: MQFAddressHeader) -> bytes:
    """FormatNameList as it was sent, inner padding included (MSEC-A04)."""
    return header.encode()[MQFAddressHeader.SIZE : header.header_size]


def find_signature(message: UserMessage, key: RsaPublicKey, body: bytes) -> SignatureType | None:
    """Which signature of a message is right ([MS-MQQB] 3.1.5.8.3); None if none is.

    In the SecurityHeader 2.0 comes before 1.0, then 3.0 (MSEC-A08); behind a list of destinations
    there is only 3.0. RSA is computed once for all of them.
    """
    algorithm = HashAlgorithm(message.properties.hash_algorithm)
    header, many = message.security, message.multi_queue
    own = b"" if header is None else header.signature
    if own not in NO_SIGNATURE:
        order = (SignatureType.MSMQ_2_0, SignatureType.MSMQ_1_0, SignatureType.MSMQ_3_0)
        return matching_digest(key, own, algorithm, _digests(message, body, algorithm, order))
    listed = b"" if many is None else many.signature.signature
    if listed not in NO_SIGNATURE:
        last = (SignatureType.MSMQ_3_0,)
        return matching_digest(key, listed, algorithm, _digests(message, body, algorithm, last))
    return None


def is_signed(message: UserMessage) -> bool:
    """Whether there is a signature, in one place or the other."""
    header, many = message.security, message.multi_queue
    return (header is not None and header.signature not in NO_SIGNATURE) or (
        many is not None and many.signature.signature not in NO_SIGNATURE
    )


def _digests(
    message: UserMessage,
    body: bytes,
    algorithm: HashAlgorithm,
    kinds: tuple[SignatureType, ...],
) -> Iterator[tuple[SignatureType, bytes]]:
    return ((one, digest(algorithm, signed_bytes(message, one, body))) for one in kinds)
