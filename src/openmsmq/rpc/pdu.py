"""PDUs of connection-oriented calls: the header, bodies, and the split of a stream into them.

Both byte orders are read; what is written is little-endian (C706 12.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.rpc.ndr.stream import NdrReader, Order
from openmsmq.rpc.ndr.structure import Structure, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U8, U16, U32, Bits

VERSION: Final = 5
LITTLE_ENDIAN: Final = b"\x10\0\0\0"
VERIFIER_SIZE: Final = 8
HEADER_SIZE: Final = 16
REQUEST_HEADER_SIZE: Final = 24
"Of a response, too."


class PduType(IntEnum):
    """PTYPE (C706 12.6.3.1; rpc_auth_3: [MS-RPCE] 2.2.2.10)."""

    REQUEST = 0
    RESPONSE = 2
    FAULT = 3
    BIND = 11
    BIND_ACK = 12
    BIND_NAK = 13
    ALTER_CONTEXT = 14
    ALTER_CONTEXT_RESP = 15
    AUTH3 = 16
    SHUTDOWN = 17
    CO_CANCEL = 18
    ORPHANED = 19


class PduFlags(Bits):
    """pfc_flags (C706 12.6.3.1; [MS-RPCE] 2.2.2.3)."""

    FIRST_FRAG = 0x01
    LAST_FRAG = 0x02
    SUPPORT_HEADER_SIGN = 0x04  # in bind and its like; else: a cancel is pending
    CONC_MPX = 0x10  # calls may overlap on the connection
    DID_NOT_EXECUTE = 0x20
    MAYBE = 0x40
    OBJECT_UUID = 0x80


WHOLE: Final = PduFlags.FIRST_FRAG | PduFlags.LAST_FRAG


@structure
class VerifierStart(Structure):
    """sec_trailer, which the token follows ([MS-RPCE] 2.2.2.11)."""

    auth_type: U8
    auth_level: U8
    pad_length: U8
    reserved: U8
    context_id: U32


@dataclass(frozen=True, slots=True)
class Verifier:
    """How a PDU is protected, and the token that does it ([MS-RPCE] 2.2.2.11)."""

    auth_type: int
    auth_level: int
    context_id: int
    token: bytes = b""
    pad_length: int = 0

    def start(self) -> bytes:
        """The bytes before the token."""
        return _VERIFIER.pack(self.auth_type, self.auth_level, self.pad_length, 0, self.context_id)


@dataclass(frozen=True, slots=True)
class Pdu:
    """One PDU as it came, its header read and its verifier found."""

    kind: int
    flags: int
    call_id: int
    order: Order
    data: bytes
    "The whole of it."
    end: int
    "Where its body ends, padding included; the verifier follows."
    verifier: Verifier | None
    version: tuple[int, int] = (VERSION, 0)

    @property
    def is_first(self) -> bool:
        """It is a call's first fragment, or its only one."""
        return bool(self.flags & PduFlags.FIRST_FRAG)

    @property
    def is_last(self) -> bool:
        """It is a call's last fragment, or its only one."""
        return bool(self.flags & PduFlags.LAST_FRAG)

    def reader(self) -> NdrReader:
        """A reader of the body."""
        reader = NdrReader(self.data, self.order, HEADER_SIZE)
        reader.end = self.end
        return reader

    @classmethod
    def parse(cls, data: bytes) -> Pdu:
        """The PDU that `data` is; `Malformed`."""
        order: Order = "<" if data[4:5] >= b"\x10" else ">"
        if len(data) < HEADER_SIZE:
            raise Malformed("frag_length", 0, f"needs {HEADER_SIZE} bytes, {len(data)} are there")
        fields = _HEADERS[order].unpack_from(data)
        major, minor, kind, flags, _, size, auth_length, call_id = fields
        if size != len(data):
            raise Malformed("frag_length", 8, f"{size} is not {len(data)}")
        end, verifier = size, None
        if auth_length:
            end -= auth_length + VERIFIER_SIZE
            if end < HEADER_SIZE:
                raise Malformed("auth_length", 10, f"{auth_length} bytes do not fit")
            trailer = VerifierStart.decode_from(NdrReader(data, order, end))
            if trailer.pad_length > end - HEADER_SIZE:
                reason = f"{trailer.pad_length} bytes do not fit"
                raise Malformed("auth_pad_length", end + 2, reason)
            token = data[end + VERIFIER_SIZE :]
            verifier = Verifier(
                trailer.auth_type, trailer.auth_level, trailer.context_id, token, trailer.pad_length
            )
        return cls(kind, flags, call_id, order, data, end, verifier, (major, minor))


def encode_pdu(
    kind: PduType, flags: int, call_id: int, body: bytes, verifier: Verifier | None = None
) -> bytes:
    """A PDU whose body is complete; nothing is signed here."""
    trailer = b"" if verifier is None else verifier.start() + verifier.token
    auth_length = 0 if verifier is None else len(verifier.token)
    size = HEADER_SIZE + len(body) + len(trailer)
    return encode_header(kind, flags, call_id, size, auth_length) + body + trailer


def encode_header(kind: PduType, flags: int, call_id: int, size: int, auth_length: int) -> bytes:
    """The header of a PDU of `size` bytes in all."""
    return _HEADER.pack(VERSION, 0, kind, flags, LITTLE_ENDIAN, size, auth_length, call_id)


_HEADERS: Final = {order: Struct(order + "BBBB4sHHI") for order in ("<", ">")}
"""What every PDU begins with (C706 12.6.3.1): version and minor version, type, flags, data
representation, size of the fragment and of its token, call.
"""
_HEADER: Final = _HEADERS["<"]
_VERIFIER: Final = Struct("<BBBBI")
_CALLS: Final = {order: Struct(order + "IHH") for order in ("<", ">")}
_CALL: Final = _CALLS["<"]
"alloc_hint, context id, operation or cancel count: of requests and responses."


class PduFramer:
    """Splits what comes from a stream into PDUs."""

    def __init__(self, size_max: int = 0xFFFF) -> None:
        self._data = bytearray()
        self._size_max = size_max

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their PDU."""
        return len(self._data)

    def feed(self, data: bytes) -> Iterator[Pdu]:
        """The PDUs that are complete; `Malformed` for what is none."""
        self._data += data
        while self._data:
            if self._data[0] != VERSION:  # something else than DCE/RPC has no length to wait for
                raise Malformed("rpc_vers", 0, f"version {self._data[0]} is not {VERSION}")
            if len(self._data) < HEADER_SIZE:
                return
            is_little = self._data[4] >= 0x10
            size = int.from_bytes(self._data[8:10], "little" if is_little else "big")
            if not HEADER_SIZE <= size <= self._size_max:
                raise Malformed("frag_length", 8, f"a PDU cannot have {size} bytes")
            if len(self._data) < size:
                return
            whole = bytes(self._data[:size])
            del self._data[:size]
            yield Pdu.parse(whole)


@structure
class BindStart(Structure):
    """The fixed part of bind, bind_ack and their like (C706 12.6.4.3)."""

    max_xmit_frag: U16
    max_recv_frag: U16
    group: U32


@structure
class ContextStart(Structure):
    """The fixed part of a context element."""

    context_id: U16
    count: U8
    reserved: U8
    interface: SyntaxId


@dataclass(frozen=True, slots=True)
class ContextElement:
    """A proposal: an interface, and the transfer syntaxes to use it by (C706 12.6.3.1)."""

    context_id: int
    interface: SyntaxId
    transfers: tuple[SyntaxId, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """bind and alter_context (C706 12.6.4.3, 12.6.4.1)."""

    max_xmit_frag: int
    max_recv_frag: int
    group: int
    contexts: tuple[ContextElement, ...]

    @classmethod
    def read(cls, pdu: Pdu) -> Bind:
        """The body of a PDU; `Malformed`."""
        reader = pdu.reader()
        start = BindStart.decode_from(reader)
        count = reader.u8("n_context_elem")
        reader.take(3, "reserved")
        contexts = []
        for _ in range(count):
            element = ContextStart.decode_from(reader)
            transfers = tuple(SyntaxId.decode_from(reader) for _ in range(element.count))
            contexts.append(ContextElement(element.context_id, element.interface, transfers))
        return cls(start.max_xmit_frag, start.max_recv_frag, start.group, tuple(contexts))

    def encode(self) -> bytes:
        """The body."""
        parts = [BindStart(self.max_xmit_frag, self.max_recv_frag, self.group).encode()]
        parts.append(bytes([len(self.contexts), 0, 0, 0]))
        for element in self.contexts:
            count = len(element.transfers)
            parts.append(ContextStart(element.context_id, count, 0, element.interface).encode())
            parts += [syntax.encode() for syntax in element.transfers]
        return b"".join(parts)


class ContextAnswer(IntEnum):
    """The result of a proposed context (C706 12.6.3.1; NEGOTIATE_ACK: [MS-RPCE] 2.2.2.4)."""

    ACCEPTANCE = 0
    USER_REJECTION = 1
    PROVIDER_REJECTION = 2
    NEGOTIATE_ACK = 3


class RejectReason(IntEnum):
    """Why a proposed context was rejected (C706 12.6.3.1)."""

    NOT_SPECIFIED = 0
    ABSTRACT_SYNTAX_NOT_SUPPORTED = 1
    TRANSFER_SYNTAXES_NOT_SUPPORTED = 2
    LOCAL_LIMIT_EXCEEDED = 3


@structure
class ContextResult(Structure):
    """The answer to a proposal (C706 12.6.3.1)."""

    result: U16
    reason: U16
    transfer: SyntaxId


@dataclass(frozen=True, slots=True)
class BindAck:
    """bind_ack and alter_context_resp (C706 12.6.4.4, 12.6.4.2)."""

    max_xmit_frag: int
    max_recv_frag: int
    group: int
    secondary_address: str
    results: tuple[ContextResult, ...]

    @classmethod
    def read(cls, pdu: Pdu) -> BindAck:
        """The body of a PDU; `Malformed`."""
        reader = pdu.reader()
        start = BindStart.decode_from(reader)
        size = reader.number("H", "sec_addr.length")
        address = reader.take(size, "sec_addr").rstrip(b"\0").decode("ascii", "replace")
        reader.align_to(4)
        count = reader.u8("n_results")
        reader.take(3, "reserved")
        results = tuple(ContextResult.decode_from(reader) for _ in range(count))
        return cls(start.max_xmit_frag, start.max_recv_frag, start.group, address, results)

    def encode(self) -> bytes:
        """The body."""
        address = self.secondary_address.encode("ascii")
        address += b"\0" if address else b""
        start = BindStart(self.max_xmit_frag, self.max_recv_frag, self.group).encode()
        head = start + len(address).to_bytes(2, "little") + address
        head += bytes(-len(head) % 4) + bytes([len(self.results), 0, 0, 0])
        return head + b"".join(result.encode() for result in self.results)


class NakReason(IntEnum):
    """Why a bind was refused ([MS-RPCE] 2.2.2.5)."""

    NOT_SPECIFIED = 0
    TEMPORARY_CONGESTION = 1
    LOCAL_LIMIT_EXCEEDED = 2
    PROTOCOL_VERSION_NOT_SUPPORTED = 4
    AUTHENTICATION_TYPE_NOT_RECOGNIZED = 8
    INVALID_CHECKSUM = 9


def encode_bind_nak(reason: NakReason) -> bytes:
    """The body of a bind_nak: why, and that version 5.0 is spoken ([MS-RPCE] 2.2.2.9)."""
    return reason.to_bytes(2, "little") + bytes([1, VERSION, 0])


def read_bind_nak(pdu: Pdu) -> int:
    """The reason in a bind_nak; what follows it is of no use here."""
    return pdu.reader().number("H", "provider_reject_reason")


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The header of a request, and where its stub begins (C706 12.6.4.9)."""

    alloc_hint: int
    context_id: int
    opnum: int
    object_uuid: UUID | None
    stub_offset: int

    @classmethod
    def read(cls, pdu: Pdu) -> RequestHeader:
        """The header in a PDU; `Malformed`."""
        hint, context, opnum = _call_header(pdu)
        if not pdu.flags & PduFlags.OBJECT_UUID:
            return cls(hint, context, opnum, None, REQUEST_HEADER_SIZE)
        reader = pdu.reader()
        reader.offset = REQUEST_HEADER_SIZE
        found = reader.uuid(reader.take(16, "object"))
        return cls(hint, context, opnum, found, reader.offset)


@dataclass(frozen=True, slots=True)
class ResponseHeader:
    """The header of a response, and where its stub begins (C706 12.6.4.10)."""

    alloc_hint: int
    context_id: int
    stub_offset: int

    @classmethod
    def read(cls, pdu: Pdu) -> ResponseHeader:
        """The header in a PDU; `Malformed`."""
        hint, context, _ = _call_header(pdu)
        return cls(hint, context, REQUEST_HEADER_SIZE)


def _call_header(pdu: Pdu) -> tuple[int, int, int]:
    """alloc_hint, context and operation of a request or response; `Malformed`."""
    if pdu.end < REQUEST_HEADER_SIZE:
        raise Malformed("alloc_hint", HEADER_SIZE, "the header of a call does not fit")
    hint, context, last = _CALLS[pdu.order].unpack_from(pdu.data, HEADER_SIZE)
    return hint, context, last


def encode_call(alloc_hint: int, context_id: int, last: int) -> bytes:
    """What stands between the header and the stub; `last` is the operation of a request."""
    return _CALL.pack(alloc_hint, context_id, last)


def encode_fault(context_id: int, status: int) -> bytes:
    """The body of a fault: no stub data, so that the PDU has 32 bytes ([MS-RPCE] 2.2.2.8)."""
    return _CALL.pack(32, context_id, 0) + status.to_bytes(4, "little") + bytes(4)


def read_fault(pdu: Pdu) -> int:
    """The status of a fault; stub data behind it are ignored ([MS-RPCE] 2.2.2.8)."""
    _call_header(pdu)
    reader = pdu.reader()
    reader.offset = REQUEST_HEADER_SIZE
    return reader.number("I", "status")
