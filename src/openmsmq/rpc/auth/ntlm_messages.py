"""The three messages of NTLM ([MS-NLMP] 2.2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final

from openmsmq.wire.fixed import Bits
from openmsmq.wire.reader import Reader

SIGNATURE: Final = b"NTLMSSP\0"
VERSION: Final = bytes.fromhex("0601b11d0000000f")
"6.1 build 7601, revision 15 ([MS-NLMP] 2.2.2.10); peers do not look at it."
MIC_OFFSET: Final = 72
MIC_SIZE: Final = 16
AV_FLAG_MIC: Final = 0x00000002
CHALLENGE_SIZE: Final = 8
_FIELD: Final = Struct("<HHI")
_NEGOTIATE_SIZE: Final = 40
_CHALLENGE_SIZE: Final = 56
_AUTHENTICATE_SIZE: Final = 88


class NtlmFlags(Bits):
    """NEGOTIATE flags ([MS-NLMP] 2.2.2.5), as far as they are used."""

    UNICODE = 0x00000001
    REQUEST_TARGET = 0x00000004
    SIGN = 0x00000010
    SEAL = 0x00000020
    NTLM = 0x00000200
    ALWAYS_SIGN = 0x00008000
    TARGET_TYPE_SERVER = 0x00020000
    EXTENDED_SESSIONSECURITY = 0x00080000
    TARGET_INFO = 0x00800000
    VERSION = 0x02000000
    KEY_128 = 0x20000000
    KEY_EXCH = 0x40000000
    KEY_56 = 0x80000000


OFFERED: Final = (
    NtlmFlags.UNICODE
    | NtlmFlags.REQUEST_TARGET
    | NtlmFlags.SIGN
    | NtlmFlags.SEAL
    | NtlmFlags.NTLM
    | NtlmFlags.ALWAYS_SIGN
    | NtlmFlags.EXTENDED_SESSIONSECURITY
    | NtlmFlags.VERSION
    | NtlmFlags.KEY_128
    | NtlmFlags.KEY_EXCH
    | NtlmFlags.KEY_56
)


class AvId(IntEnum):
    """Items of target information ([MS-NLMP] 2.2.2.1)."""

    EOL = 0
    NB_COMPUTER_NAME = 1
    NB_DOMAIN_NAME = 2
    DNS_COMPUTER_NAME = 3
    DNS_DOMAIN_NAME = 4
    FLAGS = 6
    TIMESTAMP = 7
    TARGET_NAME = 9
    CHANNEL_BINDINGS = 10


def encode_target_info(items: Mapping[int, bytes]) -> bytes:
    """A sequence of AV_PAIR ([MS-NLMP] 2.2.2.1)."""
    pairs = [Struct("<HH").pack(number, len(value)) + value for number, value in items.items()]
    return b"".join(pairs) + bytes(4)


def decode_target_info(data: bytes) -> dict[int, bytes]:
    """The items of a sequence of AV_PAIR; what follows its end is left alone; `Malformed`."""
    reader = Reader(data)
    items: dict[int, bytes] = {}
    while number := reader.u16("AvId"):
        items[number] = reader.take(reader.u16("AvLen"), "Value")
    return items


def _start(reader: Reader, kind: int) -> None:
    if reader.take(8, "Signature") != SIGNATURE:
        reader.fail("Signature", "this is not NTLM", offset=0)
    if (found := reader.u32("MessageType")) != kind:
        reader.fail("MessageType", f"{found} is not {kind}", offset=8)


def _field(reader: Reader, name: str) -> bytes:
    """A field of the payload, found by its length and offset."""
    size = reader.u16(name)
    reader.u16(name)
    offset = reader.u32(name)
    if offset + size > len(reader.data):
        reader.fail(name, f"{size} bytes at {offset} lie outside of the message")
    return reader.data[offset : offset + size]


@dataclass(frozen=True, slots=True)
class Negotiate:
    """NEGOTIATE_MESSAGE ([MS-NLMP] 2.2.1.1), without names."""

    flags: int

    @classmethod
    def decode(cls, data: bytes) -> Negotiate:
        """The message in `data`; `Malformed`."""
        reader = Reader(data)
        _start(reader, 1)
        return cls(reader.u32("NegotiateFlags"))

    def encode(self) -> bytes:
        """The bytes of the message."""
        nothing = _FIELD.pack(0, 0, _NEGOTIATE_SIZE)
        head = SIGNATURE + (1).to_bytes(4, "little") + self.flags.to_bytes(4, "little")
        return head + nothing + nothing + VERSION


@dataclass(frozen=True, slots=True)
class Challenge:
    """CHALLENGE_MESSAGE ([MS-NLMP] 2.2.1.2)."""

    flags: int
    challenge: bytes
    target_name: str
    target_info: bytes

    @classmethod
    def decode(cls, data: bytes) -> Challenge:
        """The message in `data`; `Malformed`."""
        reader = Reader(data)
        _start(reader, 2)
        name = _field(reader, "TargetName").decode("utf-16-le", "replace")
        flags = reader.u32("NegotiateFlags")
        challenge = reader.take(CHALLENGE_SIZE, "ServerChallenge")
        reader.take(8, "Reserved")
        return cls(flags, challenge, name, _field(reader, "TargetInfo"))

    def encode(self) -> bytes:
        """The bytes of the message."""
        name = self.target_name.encode("utf-16-le")
        info = self.target_info
        return b"".join(
            (
                SIGNATURE,
                (2).to_bytes(4, "little"),
                _FIELD.pack(len(name), len(name), _CHALLENGE_SIZE),
                self.flags.to_bytes(4, "little"),
                self.challenge,
                bytes(8),
                _FIELD.pack(len(info), len(info), _CHALLENGE_SIZE + len(name)),
                VERSION,
                name,
                info,
            )
        )


@dataclass(frozen=True, slots=True)
class Authenticate:
    """AUTHENTICATE_MESSAGE ([MS-NLMP] 2.2.1.3), its MIC being zeros."""

    flags: int
    domain: str
    user: str
    workstation: str
    nt_response: bytes
    session_key: bytes
    "Encrypted, or empty."

    @classmethod
    def decode(cls, data: bytes) -> Authenticate:
        """The message in `data`; `Malformed`."""
        reader = Reader(data)
        _start(reader, 3)
        _field(reader, "LmChallengeResponse")
        response = _field(reader, "NtChallengeResponse")
        names = [_field(reader, name) for name in ("DomainName", "UserName", "Workstation")]
        session_key = _field(reader, "EncryptedRandomSessionKey")
        flags = reader.u32("NegotiateFlags")
        encoding = "utf-16-le" if flags & NtlmFlags.UNICODE else "ascii"
        domain, user, workstation = (name.decode(encoding, "replace") for name in names)
        return cls(flags, domain, user, workstation, response, session_key)

    def encode(self, mic: bytes = bytes(MIC_SIZE)) -> bytes:
        """The bytes of the message; the LM response is 24 zeros ([MS-NLMP] 3.1.5.1.2)."""
        names = [
            name.encode("utf-16-le", "surrogatepass")
            for name in (self.domain, self.user, self.workstation)
        ]
        parts = (bytes(24), self.nt_response, *names, self.session_key)
        fields, offset = [], _AUTHENTICATE_SIZE
        for part in parts:
            fields.append(_FIELD.pack(len(part), len(part), offset))
            offset += len(part)
        head = SIGNATURE + (3).to_bytes(4, "little") + b"".join(fields)
        return head + self.flags.to_bytes(4, "little") + VERSION + mic + b"".join(parts)


def split_mic(data: bytes) -> tuple[bytes, bytes]:
    """The MIC of an AUTHENTICATE_MESSAGE, and the message with zeros in its place."""
    end = MIC_OFFSET + MIC_SIZE
    return data[MIC_OFFSET:end], data[:MIC_OFFSET] + bytes(MIC_SIZE) + data[end:]
