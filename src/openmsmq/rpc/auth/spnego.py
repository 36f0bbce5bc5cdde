"""SPNEGO around NTLM: which protocol is spoken, and that the offer was not changed ([MS-SPNG])."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmInitiator
from openmsmq.wire.reader import Reader

NTLM_OID: Final = bytes.fromhex("060a2b06010401823702020a")
"1.3.6.1.4.1.311.2.2.10, with tag and length."
SPNEGO_OID: Final = bytes.fromhex("06062b0601050502")
"1.3.6.1.5.5.2, with tag and length."
_APPLICATION: Final = 0x60
_SEQUENCE: Final = 0x30
_OCTETS: Final = 0x04
_ENUMERATED: Final = 0x0A
_INIT, _RESPONSE = 0xA0, 0xA1
_COMPLETED, _INCOMPLETE = 0, 1


def der(tag: int, value: bytes) -> bytes:
    """A value of DER."""
    size = len(value)
    if size < 0x80:
        return bytes([tag, size]) + value
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + value


def read_der(reader: Reader, tag: int) -> Reader:
    """A reader of the value with `tag` that comes next; `Malformed`."""
    found = reader.u8("tag")
    if found != tag:
        reader.fail("tag", f"0x{found:02X} is not 0x{tag:02X}", offset=reader.offset - 1)
    size = reader.u8("length")
    if size & 0x80:
        if not 1 <= size & 0x7F <= 4:
            reader.fail("length", f"0x{size:02X} is no length of this size")
        size = int.from_bytes(reader.take(size & 0x7F, "length"), "big")
    return Reader(reader.data, start := reader.need(size, "value"), start + size)


def _rest(reader: Reader) -> bytes:
    return reader.take(reader.remaining, "value")


def _members(reader: Reader) -> Iterator[tuple[int, Reader]]:
    """The members of a sequence, by their context tag."""
    sequence = read_der(reader, _SEQUENCE)
    while sequence.remaining:
        tag = sequence.data[sequence.offset]
        yield tag & 0x1F, read_der(sequence, tag)


@dataclass(frozen=True, slots=True)
class SpnegoToken:
    """NegTokenInit or NegTokenResp (RFC 4178 4.2), as far as it is used."""

    mechanisms: bytes = b""
    "The sequence of object identifiers of an offer, which its signature is about."
    inner: bytes = b""
    signature: bytes = b""
    state: int | None = None

    @classmethod
    def decode(cls, data: bytes) -> SpnegoToken:
        """The token in `data`; `Malformed`."""
        reader = Reader(data)
        kind = data[:1]
        if kind == bytes([_APPLICATION]):
            reader = read_der(reader, _APPLICATION)
            if reader.take(len(SPNEGO_OID), "mechanism") != SPNEGO_OID:
                reader.fail("mechanism", "this is not SPNEGO")
            return cls._init(read_der(reader, _INIT))
        return cls._response(read_der(reader, _RESPONSE))

    @classmethod
    def _init(cls, reader: Reader) -> SpnegoToken:
        mechanisms = inner = signature = b""
        for tag, value in _members(reader):
            if tag == 0:
                mechanisms = _rest(value)
            elif tag == 2:
                inner = _rest(read_der(value, _OCTETS))
            elif tag == 3 and value.data[value.offset : value.offset + 1] == bytes([_OCTETS]):
                signature = _rest(read_der(value, _OCTETS))  # else: hints of a server
        return cls(mechanisms, inner, signature)

    @classmethod
    def _response(cls, reader: Reader) -> SpnegoToken:
        inner = signature = b""
        state = None
        for tag, value in _members(reader):
            if tag == 0:
                state = int.from_bytes(_rest(read_der(value, _ENUMERATED)), "big")
            elif tag == 2:
                inner = _rest(read_der(value, _OCTETS))
            elif tag == 3:
                signature = _rest(read_der(value, _OCTETS))
        return cls(b"", inner, signature, state)

    def encode_init(self) -> bytes:
        """NegTokenInit."""
        members = der(0xA0, self.mechanisms) + der(0xA2, der(_OCTETS, self.inner))
        token = der(_INIT, der(_SEQUENCE, members))
        return der(_APPLICATION, SPNEGO_OID + token)

    def encode_response(self, *, names_mechanism: bool = False) -> bytes:
        """NegTokenResp."""
        members = b""
        if self.state is not None:
            members += der(0xA0, der(_ENUMERATED, bytes([self.state])))
        if names_mechanism:
            members += der(0xA1, NTLM_OID)
        if self.inner:
            members += der(0xA2, der(_OCTETS, self.inner))
        if self.signature:
            members += der(0xA3, der(_OCTETS, self.signature))
        return der(_RESPONSE, der(_SEQUENCE, members))


class _Wrapped:
    """A side of SPNEGO, whose protection is that of NTLM."""

    def __init__(self, ntlm: NtlmAcceptor | NtlmInitiator) -> None:
        self._ntlm = ntlm
        self._mechanisms = b""
        self._is_over = False

    def signature_size(self, level: int) -> int:
        """Bytes of a signature."""
        return self._ntlm.signature_size(level)

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return self._is_over

    @property
    def principal(self) -> str:
        """Who is on the other side; empty until both sides agree."""
        return self._ntlm.principal if self._is_over else ""

    def sign(self, message: bytes) -> bytes:
        """The signature of the next message."""
        return self._ntlm.sign(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Check the signature of the next message that came."""
        self._ntlm.verify(message, signature)

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """Encrypt a part of the next message, sign all of it."""
        return self._ntlm.seal(message, start, end)

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """Decrypt a part of the next message that came, check its signature."""
        return self._ntlm.unseal(message, start, end, signature)

    def step(self, token: bytes) -> bytes:
        """Take a token; the one to send, or nothing."""
        if self._is_over:
            raise AuthenticationFailed("the authentication is over")
        try:
            return self._step(token)
        except Malformed as error:
            raise AuthenticationFailed(f"malformed SPNEGO token: {error}") from error

    def _step(self, token: bytes) -> bytes:
        raise NotImplementedError


class SpnegoAcceptor(_Wrapped):
    """The server's side ([MS-SPNG] 3.2.5): NTLM, wherever it stands in the client's list."""

    def _step(self, token: bytes) -> bytes:
        if token[:8] == b"NTLMSSP\0":
            return self._bare(token)
        message = SpnegoToken.decode(token)
        if not self._mechanisms:
            return self._choose(message)
        inner = message.inner
        if not self._ntlm.is_complete:
            inner = self._ntlm.step(inner)
            if not self._ntlm.is_complete:
                return SpnegoToken(state=_INCOMPLETE, inner=inner).encode_response()
        signature = b""
        if message.signature:
            self._ntlm.verify(self._mechanisms, message.signature)
            signature = self._ntlm.sign(self._mechanisms)
            self._ntlm.reset()
        self._is_over = True
        return SpnegoToken(state=_COMPLETED, signature=signature).encode_response()

    def _choose(self, message: SpnegoToken) -> bytes:
        """Take NTLM's own token if the client began with it, else ask for one."""
        offered = read_der(Reader(message.mechanisms), _SEQUENCE)
        if NTLM_OID not in message.mechanisms:
            raise AuthenticationFailed("NTLM is not among what the client offers")
        self._mechanisms = message.mechanisms
        is_first = offered.take(min(len(NTLM_OID), offered.remaining), "mechanism") == NTLM_OID
        inner = self._ntlm.step(message.inner) if is_first and message.inner else b""
        answer = SpnegoToken(state=_INCOMPLETE, inner=inner)
        return answer.encode_response(names_mechanism=True)

    def _bare(self, token: bytes) -> bytes:
        """A client may speak NTLM without SPNEGO around it ([MS-SPNG] 3.2.5.1)."""
        if self._mechanisms:
            raise AuthenticationFailed("NTLM without SPNEGO around it, which it began with")
        answer = self._ntlm.step(token)
        self._is_over = self._ntlm.is_complete
        return answer


class SpnegoInitiator(_Wrapped):
    """The client's side ([MS-SPNG] 3.1.5): it offers NTLM, and nothing else."""

    def _step(self, token: bytes) -> bytes:
        if not self._mechanisms:
            self._mechanisms = der(_SEQUENCE, NTLM_OID)
            return SpnegoToken(self._mechanisms, self._ntlm.step(b"")).encode_init()
        message = SpnegoToken.decode(token)
        if not self._ntlm.is_complete:
            inner = self._ntlm.step(message.inner)
            signature = self._ntlm.sign(self._mechanisms)
            return SpnegoToken(inner=inner, signature=signature).encode_response()
        if message.state != _COMPLETED:
            raise AuthenticationFailed("the server did not accept")
        if message.signature:
            self._ntlm.verify(self._mechanisms, message.signature)
        self._ntlm.reset()
        self._is_over = True
        return b""
