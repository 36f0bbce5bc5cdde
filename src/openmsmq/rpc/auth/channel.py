"""The protection of a connection's requests and responses, fragment by fragment.

Every fragment is padded, signed or sealed, and numbered on its own ([MS-RPCE] 3.3.1.5.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, SecurityContext
from openmsmq.rpc.pdu import (
    REQUEST_HEADER_SIZE,
    VERIFIER_SIZE,
    Pdu,
    PduFlags,
    PduType,
    Verifier,
    encode_call,
    encode_header,
)

ALIGNMENT: Final = 16
"Of a verifier, counted from the start of the stub ([MS-RPCE] 2.2.2.11)."


@dataclass(slots=True)
class SecureChannel:
    """How the PDUs of a connection are protected; at first not at all."""

    level: int = AuthLevel.NONE
    auth_type: int = 0
    context_id: int = 0
    context: SecurityContext | None = None

    @property
    def is_protected(self) -> bool:
        """Every fragment has a signature."""
        return self.level >= AuthLevel.CALL

    def open(self, pdu: Pdu, stub_offset: int) -> bytes:
        """The stub data of a fragment, checked and decrypted; `AuthenticationFailed`."""
        verifier = pdu.verifier
        if not self.is_protected:
            padding = 0 if verifier is None else verifier.pad_length
            return _unpadded(pdu.data, stub_offset, pdu.end, padding)
        if verifier is None:
            raise AuthenticationFailed("a fragment without a verifier")
        expected = self.auth_type, self.level, self.context_id
        if (verifier.auth_type, verifier.auth_level, verifier.context_id) != expected:
            raise AuthenticationFailed("a verifier of another type, level or context")
        assert self.context is not None
        message = pdu.data[: pdu.end + VERIFIER_SIZE]
        if self.level == AuthLevel.PRIVACY:
            message = self.context.unseal(message, stub_offset, pdu.end, verifier.token)
        else:
            self.context.verify(message, verifier.token)
        return _unpadded(message, stub_offset, pdu.end, verifier.pad_length)

    def fragments(
        self,
        kind: PduType,
        call_id: int,
        context_id: int,
        last: int,
        stub: bytes,
        size_max: int,
        flags: int = 0,
    ) -> list[bytes]:
        """A request or a response as PDUs of at most `size_max` bytes ([MS-RPCE] 2.2.2.6).

        `last` is the operation of a request.
        """
        step = self.stub_size(size_max)
        pieces = [stub[at : at + step] for at in range(0, len(stub), step)] or [b""]
        pdus = []
        left = len(stub)
        for at, piece in enumerate(pieces):
            first = PduFlags.FIRST_FRAG if at == 0 else 0
            end = PduFlags.LAST_FRAG if at == len(pieces) - 1 else 0
            call = encode_call(left, context_id, last)
            pdus.append(self._fragment(kind, flags | first | end, call_id, call, piece))
            left -= len(piece)
        return pdus

    def stub_size(self, size_max: int) -> int:
        """Bytes of stub data in a fragment of at most `size_max` bytes."""
        if not self.is_protected:
            return (size_max - REQUEST_HEADER_SIZE) // 8 * 8
        assert self.context is not None
        verifier = VERIFIER_SIZE + self.context.signature_size(self.level)
        return (size_max - REQUEST_HEADER_SIZE - verifier) // ALIGNMENT * ALIGNMENT

    def _fragment(self, kind: PduType, flags: int, call_id: int, call: bytes, stub: bytes) -> bytes:
        size = REQUEST_HEADER_SIZE + len(stub)
        if not self.is_protected:
            return encode_header(kind, flags, call_id, size, 0) + call + stub
        assert self.context is not None
        padding = -len(stub) % ALIGNMENT
        token_size = self.context.signature_size(self.level)
        end = size + padding
        verifier = Verifier(self.auth_type, self.level, self.context_id, b"", padding)
        whole = end + VERIFIER_SIZE + token_size
        header = encode_header(kind, flags, call_id, whole, token_size)
        message = header + call + stub + bytes(padding) + verifier.start()
        if self.level == AuthLevel.PRIVACY:
            message, signature = self.context.seal(message, REQUEST_HEADER_SIZE, end)
            return message + signature
        return message + self.context.sign(message)


def _unpadded(data: bytes, start: int, end: int, padding: int) -> bytes:
    if start + padding > end:
        raise AuthenticationFailed("more padding than stub data")
    return data[start : end - padding]
