"""What a signature of a message covers, and which of its signatures are right ([MS-MQMQ] 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from openmsmq import limits
from openmsmq.errors import MessageTooLarge
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.headers.multi_queue import MQFAddressHeader, MQFSignatureHeader
from openmsmq.packet.headers.properties import MessagePropertiesStart, PropertyFlags
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.user import UserFlags, UserHeader, UserHeaderStart
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import (
    EXTENSION_SIZE,
    LABEL,
    NO_CONNECTOR,
    USER,
    ProtectedLayout,
    names_of,
    properties_offset,
    u16,
    u32,
)
from openmsmq.properties.message import HashAlgorithm, SignatureType
from openmsmq.security.rsa import RsaPublicKey, is_digest, opened
from openmsmq.wire.text import padding

NO_SIGNATURE: Final = (b"", bytes(4))
"Four zero bytes say that there is none here (MSEC-A07)."
NameBytes = tuple[bytes, bytes, bytes]
"What stands for the destination, the administration and the response queue."
_SOURCE: Final = USER + UserHeaderStart.offset_of("SourceQueueManager")
_CLASS: Final = MessagePropertiesStart.offset_of("MessageClass")
_CLASS_END: Final = _CLASS + 2
_CORRELATION: Final = MessagePropertiesStart.offset_of("CorrelationID")
_CORRELATION_END: Final = _CORRELATION + 20
_BODY_TYPE: Final = MessagePropertiesStart.offset_of("BodyType")
_BODY_TYPE_END: Final = _BODY_TYPE + 4
_APPLICATION_TAG: Final = MessagePropertiesStart.offset_of("ApplicationTag")
_APPLICATION_TAG_END: Final = _APPLICATION_TAG + 4
_HASH_ALGORITHM: Final = MessagePropertiesStart.offset_of("HashAlgorithm")
_OWN_ORDER: Final = (SignatureType.MSMQ_2_0, SignatureType.MSMQ_1_0, SignatureType.MSMQ_3_0)
_LISTED_ORDER: Final = (SignatureType.MSMQ_3_0,)
_DM: Final = UserFlags.DM
_JOURNALING: Final = UserFlags.JN | UserFlags.JP
_ACKNOWLEDGEMENTS: Final = PropertyFlags.PA | PropertyFlags.PR | PropertyFlags.NA | PropertyFlags.NR


class SignedFields(NamedTuple):
    """The fields of a message that signatures cover, each as it is hashed, and the signatures."""

    names: NameBytes
    source: bytes
    delivery: bytes
    "Delivery mode, priority, journaling and acknowledgements, a byte each."
    connector: bytes
    correlation_id: bytes
    application_tag: bytes
    label: bytes
    extension: bytes
    message_class: bytes
    body_type: bytes
    destinations: bytes
    "The list of several destinations."
    hash_algorithm: int
    own: bytes
    "The signature in the SecurityHeader."
    listed: bytes
    "The one behind the list of destinations."

    @property
    def signature(self) -> bytes:
        """The one that counts ([MS-MQQB] 3.1.5.8.3); nothing if there is none."""
        found = self.listed if self.own in NO_SIGNATURE else self.own
        return b"" if found in NO_SIGNATURE else found


def names_on_the_wire(user: UserHeader) -> NameBytes:
    """Destination, administration and response queue as they are hashed (MSEC-A01)."""
    return name_bytes(user.destination), name_bytes(user.admin), name_bytes(user.response)


def signed_fields(
    message: UserMessage, names: Callable[[UserHeader], NameBytes] = names_on_the_wire
) -> SignedFields:
    """What is signed of a message that was decoded.

    `names` says which bytes stand for the names of queues, which no specification does: those on
    the wire, without count and padding (MSEC-A01).
    """
    user, properties = message.user, message.properties
    connector, security, many = user.connector_type, message.security, message.multi_queue
    return SignedFields(
        names=names(user),
        source=user.source_queue_manager.bytes_le,
        delivery=_delivery(user.flags, message.base.flags, properties.flags),
        connector=NO_CONNECTOR if connector is None else connector.bytes_le,
        correlation_id=properties.correlation_id,
        application_tag=properties.application_tag.to_bytes(4, "little"),
        label=properties.label_utf16,
        extension=properties.extension,
        message_class=properties.message_class.to_bytes(2, "little"),
        body_type=properties.body_type.to_bytes(4, "little"),
        destinations=b"" if many is None else list_bytes(many.destination),
        hash_algorithm=properties.hash_algorithm,
        own=b"" if security is None else security.signature,
        listed=b"" if many is None else many.signature.signature,
    )


def view_fields(view: PacketView, security: SecurityHeader | None) -> SignedFields:
    """The same of the bytes of a packet, by offset: most of the headers are not decoded.

    `security` is its SecurityHeader, which callers have read for reasons of their own.
    """
    data, flags = view.data, view.flags
    if flags & UserFlags.MQ:
        return signed_fields(view.message())
    (destination, admin, response), end = names_of(data, flags)
    return _fields_at(
        data,
        properties_offset(data),
        flags,
        (destination, admin, response),
        data[end : end + 16] if flags & UserFlags.CQ else NO_CONNECTOR,
        b"" if security is None else security.signature,
    )


def layout_fields(data: bytes, layout: ProtectedLayout) -> SignedFields:
    """The same of a message whose parts were found, and which has one destination."""
    return _fields_at(
        data,
        layout.properties,
        layout.user_flags,
        layout.names,
        layout.connector,
        data[layout.signature],
    )


def find_own_signature(
    data: bytes, layout: ProtectedLayout, info: bytes, algorithm: int, body: bytes
) -> SignatureType | None:
    """Which signature is right of a message whose parts were found, and which has one destination.

    The same as `find_signature`, `info` being what was signed: nearly always it is of version 2.0,
    which is looked at first.
    """
    if is_digest(info, algorithm, signed_at(data, layout, body)):
        return SignatureType.MSMQ_2_0
    return _kind_of(layout_fields(data, layout), _OWN_ORDER[1:], info, algorithm, body)


def signed_at(data: bytes, layout: ProtectedLayout, body: bytes) -> bytes:
    """What is hashed for a signature of version 2.0 ([MS-MQMQ] 2.5.2); see `signed_bytes`."""
    at, (destination, admin, response) = layout.properties, layout.names
    delivery = _delivery(layout.user_flags, u16(data, 2)[0], data[at])
    return b"".join(
        (
            data[at + _CORRELATION : at + _CORRELATION_END],
            data[at + _APPLICATION_TAG : at + _APPLICATION_TAG_END],
            body,
            data[at + LABEL : at + LABEL + 2 * data[at + 1]],
            response,
            admin,
            layout.source,
            delivery,
            data[at + _CLASS : at + _CLASS_END],
            data[at + _BODY_TYPE : at + _BODY_TYPE_END],
            layout.connector,
            destination,
        )
    )


def _fields_at(
    data: bytes, start: int, flags: int, names: NameBytes, connector: bytes, own: bytes
) -> SignedFields:
    """The same; the MessagePropertiesHeader begins at `start`."""
    label_end = start + LABEL + 2 * data[start + 1]
    extension_end = label_end + u32(data, start + EXTENSION_SIZE)[0]
    return SignedFields(
        names=names,
        source=data[_SOURCE : _SOURCE + 16],
        delivery=_delivery(flags, u16(data, 2)[0], data[start]),
        connector=connector,
        correlation_id=data[start + _CORRELATION : start + _CORRELATION + 20],
        application_tag=data[start + _APPLICATION_TAG : start + _APPLICATION_TAG + 4],
        label=data[start + LABEL : label_end],
        extension=data[label_end:extension_end],
        message_class=data[start + _CLASS : start + _CLASS + 2],
        body_type=data[start + _BODY_TYPE : start + _BODY_TYPE + 4],
        destinations=b"",
        hash_algorithm=u32(data, start + _HASH_ALGORITHM)[0],
        own=own,
        listed=b"",
    )


def _delivery(user: int, base: int, properties: int) -> bytes:
    """Delivery mode, priority, journaling and acknowledgements as they are hashed."""
    journaling = (user & _JOURNALING) >> 8
    return bytes(((user & _DM) >> 5, base & 7, journaling, properties & _ACKNOWLEDGEMENTS))


def signed_bytes(fields: SignedFields, kind: SignatureType, body: bytes) -> bytes:
    """What is hashed for a signature ([MS-MQMQ] 2.5.1, 2.5.2, 2.5.3), without lengths (MSEC-A42).

    `body` is the clear one ([MS-MQQB] 3.1.7.1).
    """
    destination, admin, response = fields.names
    parts = [fields.correlation_id, fields.application_tag, body, fields.label, response, admin]
    if kind is SignatureType.MSMQ_1_0:
        return b"".join(parts)
    if kind is SignatureType.MSMQ_3_0:
        parts += (fields.extension, fields.destinations)
    parts += (
        fields.source,
        fields.delivery,
        fields.message_class,
        fields.body_type,
        fields.connector,
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


def with_listed_signature(packet: bytes) -> bytes:
    """A message to several queues with its signature behind their list ([MS-MQQB] 3.1.7.1.4).

    It was made with a signature in the SecurityHeader, which has none then. `MessageTooLarge` if
    it does not fit into a packet.
    """
    message = PacketView(packet).message()
    security, many = message.security, message.multi_queue
    assert security is not None, "it is signed"
    assert many is not None, "it goes to several queues"
    listed = replace(many, signature=MQFSignatureHeader.make(security.signature))
    empty = replace(security, signature=b"", signature_size=0, paddings=(b"",) * 5)
    moved = replace(
        message, security=empty, multi_queue=listed, surplus=padding(len(listed.encode()))
    )
    size = len(moved.encode())
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(f"the message takes {size} bytes when it is signed")
    return replace(moved, base=replace(message.base, packet_size=size)).encode()


def find_signature(fields: SignedFields, key: RsaPublicKey, body: bytes) -> SignatureType | None:
    """Which signature of a message is right ([MS-MQQB] 3.1.5.8.3); None if none is.

    In the SecurityHeader 2.0 comes before 1.0, then 3.0 (MSEC-A08); behind a list of destinations
    there is only 3.0. RSA is computed once for all of them.
    """
    signature = fields.signature
    info = opened(key.opener(), signature) if signature else b""
    if not info:
        return None
    order = _LISTED_ORDER if fields.own in NO_SIGNATURE else _OWN_ORDER
    return _kind_of(fields, order, info, HashAlgorithm(fields.hash_algorithm), body)


def _kind_of(
    fields: SignedFields,
    kinds: Iterable[SignatureType],
    info: bytes,
    algorithm: int,
    body: bytes,
) -> SignatureType | None:
    """Of which of some kinds a signature is; None for none of them."""
    covered = ((kind, signed_bytes(fields, kind, body)) for kind in kinds)
    return next((kind for kind, data in covered if is_digest(info, algorithm, data)), None)
