"""Hypothesis strategies for packets of every shape, with any value where the rules allow any."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hypothesis import strategies as st

from openmsmq.names.mqf import MQFFormatNameElement, MQFFormatType
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.connection import (
    ConnectionParameters,
    EstablishConnection,
    InternalPacket,
    SessionAck,
)
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.internal import InternalHeader, InternalType
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.properties import MessagePropertiesHeader, MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.srmp import CompoundMessageHeader, SRMPEnvelopeHeader
from openmsmq.packet.headers.trailer import (
    DeadLetterHeader,
    ExtendedAddressHeader,
    SubqueueHeader,
    Trailer,
)
from openmsmq.packet.headers.transaction import (
    TransactionFlags,
    TransactionHeader,
    TransactionHeaderStart,
)
from openmsmq.packet.headers.user import (
    ADMIN_CODES,
    DESTINATION_CODES,
    UserFlags,
    UserHeader,
    UserHeaderStart,
)
from openmsmq.packet.message import StoredMessage, UserMessage
from openmsmq.packet.packet import Packet
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from openmsmq.wire.fixed import Fixed
from openmsmq.wire.reader import decode_whole
from openmsmq.wire.text import encode_utf16z
from tests.strategies.names import guids, u16, u32

T = TypeVar("T")
FixedT = TypeVar("FixedT", bound=Fixed)
blobs = st.binary(max_size=40)
_CODES = tuple(ReferenceCode)


def maybe(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """The value or nothing, nothing more often: most headers are optional."""
    return st.one_of(st.none(), st.none(), strategy)


def fixed_parts(kind: type[FixedT]) -> st.SearchStrategy[FixedT]:
    """A structure of fixed size with any value in every field."""
    return exactly(kind.SIZE).map(kind.unpack)


def exactly(size: int) -> st.SearchStrategy[bytes]:
    """Any bytes of this size."""
    return st.binary(min_size=size, max_size=size)


def texts() -> st.SearchStrategy[bytes]:
    """Null-terminated UTF-16, a direct name or any other text."""
    direct = st.sampled_from([r"OS:host\private$\orders", r"TCP:192.0.2.7\q", "HTTP://h/msmq/q"])
    characters = st.characters(exclude_characters="\0")
    return st.one_of(direct, st.text(characters, max_size=9)).map(encode_utf16z)


def _pad(draw: st.DrawFn, size: int) -> bytes:
    """Padding of any value, as peers send it."""
    return draw(exactly(-size & 3))


@st.composite
def references(draw: st.DrawFn, codes: Collection[int]) -> QueueReference:
    """A queue name of one of these kinds."""
    code = ReferenceCode(draw(st.sampled_from(sorted(codes))))
    match code:
        case ReferenceCode.NONE | ReferenceCode.SAME_AS_ADMIN:
            return QueueReference(code)
        case ReferenceCode.DIRECT:
            raw = draw(texts())
            return QueueReference(code, raw=raw, padding=_pad(draw, 2 + len(raw)))
        case ReferenceCode.PUBLIC:
            return QueueReference(code, draw(guids()))
        case ReferenceCode.PRIVATE_ELSEWHERE:
            return QueueReference(code, draw(guids()), draw(u32))
        case _:
            return QueueReference(code, number=draw(u32))


@st.composite
def elements(draw: st.DrawFn) -> MQFFormatNameElement:
    """A name in a MultiQueueFormatHeader."""
    kind = draw(st.sampled_from(MQFFormatType))
    if kind is MQFFormatType.DIRECT:
        return MQFFormatNameElement(kind, raw=draw(texts()))
    number = draw(u32) if kind is MQFFormatType.PRIVATE else 0
    return MQFFormatNameElement(kind, draw(guids()), number)


@st.composite
def transaction_headers(draw: st.DrawFn) -> TransactionHeader:
    start = draw(fixed_parts(TransactionHeaderStart))
    has_connector = bool(start.flags & TransactionFlags.CG)
    return TransactionHeader(
        **start.values(), connector_qm_guid=draw(guids()) if has_connector else None
    )


@st.composite
def security_headers(draw: st.DrawFn) -> SecurityHeader:
    identifier, key, signature, certificate, provider = (draw(blobs) for _ in range(5))
    header = SecurityHeader.make(
        draw(u16),
        security_id=identifier,
        encryption_key=key,
        signature=signature,
        sender_cert=certificate,
        provider_info=provider,
    )
    return replace(header, paddings=tuple(_pad(draw, size) for size in header.sizes))


@st.composite
def properties_headers(draw: st.DrawFn) -> MessagePropertiesHeader:
    start = draw(fixed_parts(MessagePropertiesStart))
    label = draw(st.one_of(st.just(b""), texts()))
    extension, body, more = draw(blobs), draw(blobs), draw(st.binary(max_size=5))
    sizes = {
        "label_length": len(label) // 2,
        "message_size": len(body),
        "allocation_body_size": len(body + more),
        "extension_size": len(extension),
    }
    return MessagePropertiesHeader(
        **start.values() | sizes,
        label_utf16=label,
        extension=extension,
        body_field=body + more,
        padding=_pad(draw, len(label + extension + body + more)),
    )


@st.composite
def debug_headers(draw: st.DrawFn) -> DebugHeader:
    queue = draw(maybe(guids()))
    return DebugHeader(draw(u16) & ~3 | (queue is not None), draw(u16), queue)


@st.composite
def soap_headers(draw: st.DrawFn) -> SoapHeader:
    header, body = draw(texts()), draw(texts())
    between = _pad(draw, len(header)) if draw(st.booleans()) else b""
    if between.startswith(b"\x84\x03"):
        between = bytes(len(between))  # would be taken for the next section (AMB-8)
    after = _pad(draw, len(header + between + body))
    return SoapHeader(header, body, (draw(u16), draw(u16)), (between, after))


@st.composite
def envelope_headers(draw: st.DrawFn) -> SRMPEnvelopeHeader:
    data = draw(texts())
    pad = _pad(draw, len(data))
    return SRMPEnvelopeHeader(draw(u16), draw(u16), len(data) // 2, data, pad)


@st.composite
def compound_headers(draw: st.DrawFn) -> CompoundMessageHeader:
    data = draw(blobs)
    start = draw(st.integers(0, len(data)))
    size = draw(st.integers(0, len(data) - start))
    pad = _pad(draw, len(data))
    return CompoundMessageHeader(draw(u16), draw(u16), len(data), size, start, data, pad)


def multi_queue_headers() -> st.SearchStrategy[MultiQueueFormatHeader]:
    """Lists of names, read back once so that they hold their alignment bytes."""
    names = st.lists(elements(), max_size=3).map(tuple)
    made = st.builds(MultiQueueFormatHeader.make, names, names, names, blobs)
    return made.map(lambda header: decode_whole(header.encode(), MultiQueueFormatHeader.read))


@st.composite
def user_headers(draw: st.DrawFn, flags: int) -> UserHeader:
    """A UserHeader with the bits of `flags` and whatever its names need."""
    start = draw(fixed_parts(UserHeaderStart))
    destination = draw(references(DESTINATION_CODES))
    admin = draw(references(ADMIN_CODES))
    response = draw(references(_CODES))
    connector = draw(maybe(guids()))
    flags |= destination.code << 10 | admin.code << 13 | response.code << 16
    flags |= UserFlags.MP | (0 if connector is None else UserFlags.CQ)
    return UserHeader(
        **start.values() | {"flags": start.flags & FREE_FLAGS | flags},
        destination=destination,
        admin=admin,
        response=response,
        connector_type=connector,
    )


FREE_FLAGS = (
    UserFlags.RC
    | UserFlags.DM
    | UserFlags.JN
    | UserFlags.JP
    | UserFlags.X1
    | UserFlags.X2
    | UserFlags.X3
    | UserFlags.X4
)
"Bits of UserHeader.Flags that announce nothing, reserved ones among them."

ANNOUNCING = {
    "transaction": UserFlags.TH,
    "security": UserFlags.SH,
    "soap": UserFlags.HH,
    "multi_queue": UserFlags.MQ,
    "envelope": UserFlags.AH,
}


@st.composite
def user_messages(draw: st.DrawFn, *, with_session: bool | None = None) -> UserMessage:
    """A UserMessage of any shape."""
    parts: dict[str, Any] = {
        "transaction": draw(maybe(transaction_headers())),
        "security": draw(maybe(security_headers())),
        "debug": draw(maybe(debug_headers())),
        "soap": draw(maybe(soap_headers())),
        "multi_queue": draw(maybe(multi_queue_headers())),
    }
    if draw(st.integers(0, 3)) == 0:
        parts |= {"envelope": draw(envelope_headers()), "compound": draw(compound_headers())}
    sessions = {
        None: maybe(fixed_parts(SessionHeader)),
        True: fixed_parts(SessionHeader),
        False: st.none(),
    }
    session = draw(sessions[with_session])
    flags = sum(bit for part, bit in ANNOUNCING.items() if parts.get(part) is not None)
    base_flags = draw(u16) & ~(BaseFlags.IN | BaseFlags.SH | BaseFlags.DH)
    base_flags |= 0 if parts["debug"] is None else BaseFlags.DH
    base_flags |= 0 if session is None else BaseFlags.SH
    # 16 bytes too many would be taken for a SessionHeader (AMB-1).
    surplus = draw(st.one_of(st.just(b""), st.binary(max_size=SessionHeader.SIZE - 1)))
    message = UserMessage(
        base=BaseHeader(flags=base_flags, time_to_reach_queue=draw(u32)),
        user=draw(user_headers(flags)),
        properties=draw(properties_headers()),
        surplus=surplus,
        **parts,
    )
    base = replace(message.base, packet_size=len(message.encode()), reserved=base_flags & 0xFF)
    return replace(message, base=base, session=session)


@st.composite
def internal_packets(draw: st.DrawFn) -> InternalPacket:
    """An internal packet with any value in its fields."""
    kind = draw(st.sampled_from(InternalType))
    internal = InternalHeader(draw(u16), draw(u16) & 0xFFF0 | kind)
    match kind:
        case InternalType.SESSION_ACK:
            return SessionAck(draw(fixed_parts(SessionHeader)), internal)
        case InternalType.CONNECTION_PARAMETERS:
            return ConnectionParameters(draw(fixed_parts(ConnectionParametersHeader)), internal)
        case _:
            start = draw(exactly(EstablishConnectionHeader.SIZE - 512))
            padding = draw(st.sampled_from([b"\x5a", b"\0", b"\xcc"])) * 512
            return EstablishConnection(EstablishConnectionHeader.unpack(start + padding), internal)


def packets() -> st.SearchStrategy[Packet]:
    """Any packet of a session."""
    return st.one_of(user_messages(), internal_packets())


def pings() -> st.SearchStrategy[PingPacket]:
    """Ping requests and responses."""
    return st.builds(PingPacket, u16, st.just(PING_SIGNATURE), u32, guids())


def trailers() -> st.SearchStrategy[Trailer]:
    """What follows a stored message."""
    subqueue = fixed_parts(SubqueueHeader).map(partial(replace, header_size=SubqueueHeader.SIZE))
    address = fixed_parts(ExtendedAddressHeader).map(
        partial(replace, header_size=ExtendedAddressHeader.SIZE)
    )
    dead_letter = st.builds(DeadLetterHeader, texts(), st.binary(max_size=3))
    return st.builds(Trailer.make, subqueue, address, maybe(dead_letter))


def stored_messages() -> st.SearchStrategy[StoredMessage]:
    """Messages as a store or remote read keeps them."""
    return st.builds(StoredMessage, user_messages(with_session=False), maybe(trailers()))
