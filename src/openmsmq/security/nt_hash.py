"""The hash of a password that NTLM works with ([MS-NLMP] 3.3.1); it is as good as the password."""

from __future__ import annotations

from struct import Struct
from typing import Final

_BLOCK: Final = Struct("<16I")
_MASK: Final = 0xFFFFFFFF
_ROUNDS: Final = (
    (0, tuple(range(16)), (3, 7, 11, 19)),
    (0x5A827999, (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), (3, 5, 9, 13)),
    (0x6ED9EBA1, (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15), (3, 9, 11, 15)),
)
"Constant, order of the words and shifts of each round of MD4 (RFC 1320)."


def md4(data: bytes) -> bytes:
    """The MD4 digest of `data` (RFC 1320), which not every OpenSSL has."""
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + (8 * len(data)).to_bytes(8, "little")
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    for at in range(0, len(padded), 64):
        words = _BLOCK.unpack_from(padded, at)
        a, b, c, d = state
        for round_, (constant, order, shifts) in enumerate(_ROUNDS):
            for step, index in enumerate(order):
                mixed = _mix(round_, b, c, d) + a + words[index] + constant & _MASK
                shift = shifts[step % 4]
                a, b, c, d = d, (mixed << shift | mixed >> 32 - shift) & _MASK, b, c
        state = [x + y & _MASK for x, y in zip(state, (a, b, c, d), strict=True)]
    return b"".join(word.to_bytes(4, "little") for word in state)


def _mix(round_: int, b: int, c: int, d: int) -> int:
    if round_ == 0:
        return (b & c) | (~b & d)
    if round_ == 1:
        return (b & c) | (b & d) | (c & d)
    return b ^ c ^ d


def nt_hash(password: str) -> bytes:
    """NTOWFv1: what stands for a password; with it one can log on ([MS-NLMP] 3.3.1)."""
    return md4(password.encode("utf-16-le", "surrogatepass"))
