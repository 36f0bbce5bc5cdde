"""SecurityHeader: who sent a message, its signature, its keys."""

from __future__ import annotations

from dataclasses import replace
from struct import pack
from typing import Annotated, Any, Final, Self

from openmsmq import limits
from openmsmq.wire.fixed import U16, U32, Bits, Fixed, Named, extended, fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16, encode_utf16z, padding

ITEMS: Final = ("SecurityID", "EncryptionKey", "Signature", "SenderCert", "ProviderInfo")


class SecurityFlags(Bits):
    """SecurityHeader.Flags ([MS-MQMQ] 2.2.20.6)."""

    ST = 0x000F  # 0 no SecurityID, 1 it is a SID, 2 it is a queue manager's GUID
    AU = 0x0010  # authenticated; sent as 0
    EB = 0x0020  # the body is encrypted
    DE = 0x0040  # the default cryptographic provider
    AI = 0x0080  # there is SecurityData; the sizes decide all the same
    AS = 0x0F00  # kind of signature found; sent as 0
    X12_X15 = 0xF000


_SET_BY_RULE: Final = SecurityFlags.AU | SecurityFlags.EB | SecurityFlags.DE | SecurityFlags.AS


@fixed
class SecurityHeaderStart(Fixed):
    """The fixed part of a SecurityHeader ([MS-MQMQ] 2.2.20.6)."""

    flags: Annotated[int, "H", SecurityFlags] = 0
    sender_id_size: Annotated[int, "H", Named("SenderIdSize")] = 0
    encryption_key_size: U16 = 0
    signature_size: U16 = 0
    sender_cert_size: U32 = 0
    provider_info_size: U32 = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the five items, in their order."""
        return (
            self.sender_id_size,
            self.encryption_key_size,
            self.signature_size,
            self.sender_cert_size,
            self.provider_info_size,
        )


assert SecurityHeaderStart.SIZE == 16


@extended
class SecurityHeader(SecurityHeaderStart):
    """SecurityHeader ([MS-MQMQ] 2.2.20.6).

    Five items follow the sizes, each on a 4-byte boundary; one of size 0 takes no space.
    """

    security_id: bytes = b""
    encryption_key: bytes = b""
    signature: bytes = b""
    sender_cert: bytes = b""
    provider_info: bytes = b""
    paddings: tuple[bytes, ...] = (b"",) * 5
    "What stood between the items."

    @classmethod
    def make(
        cls,
        flags: int,
        *,
        security_id: bytes = b"",
        encryption_key: bytes = b"",
        signature: bytes = b"",
        sender_cert: bytes = b"",
        provider_info: bytes = b"",
    ) -> Self:
        """A header whose sizes are those of its items."""
        return cls(
            flags,
            len(security_id),
            len(encryption_key),
            len(signature),
            len(sender_cert),
            len(provider_info),
            security_id,
            encryption_key,
            signature,
            sender_cert,
            provider_info,
        )

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the sizes, then the items they announce."""
        origin = reader.offset
        items: list[bytes] = []
        paddings: list[bytes] = []
        with reader.section("SecurityHeader"):
            start = reader.fixed(SecurityHeaderStart)
            if start.sender_cert_size > limits.SENDER_CERTIFICATE_SIZE_MAX:
                place = origin + cls.offset_of("SenderCertSize")
                reader.fail("SenderCertSize", "is over 65535", offset=place)
            with reader.section("SecurityData"):
                for name, size in zip(ITEMS, start.sizes, strict=True):
                    items.append(reader.take(size, name))
                    paddings.append(reader.align(4, origin, f"{name}.padding"))
        security_id, encryption_key, signature, sender_cert, provider_info = items
        return cls(
            **start.values(),
            security_id=security_id,
            encryption_key=encryption_key,
            signature=signature,
            sender_cert=sender_cert,
            provider_info=provider_info,
            paddings=tuple(paddings),
        )

    @classmethod
    def view(cls, data: bytes, offset: int) -> Self:
        """The header at an offset of a packet that was checked before: without a Reader."""
        flags, *sizes = SecurityHeaderStart.LAYOUT.unpack_from(data, offset)
        offset += SecurityHeaderStart.SIZE
        items: list[Any] = []
        paddings: list[bytes] = []
        for size in sizes:
            end = offset + size
            items.append(data[offset:end])
            offset = end + (-size & 3)
            paddings.append(data[end:offset])
        items.append(tuple(paddings))
        return cls(flags, *sizes, *items)

    def as_sent(self, *, encrypted: bool) -> Self:
        """The same with the flags of a sender ([MS-MQDMPR] 3.1.7.1.32).

        AU and AS are for the receiver to find. A sender that signs with a provider of its own
        names it; any other signature is made with the default one, which DE says (A-62).
        """
        flags = self.flags & ~_SET_BY_RULE
        flags |= SecurityFlags.EB if encrypted else 0
        flags |= SecurityFlags.DE if self.signature and not self.provider_info else 0
        return replace(self, flags=flags)

    def as_verified(self, kind: int) -> Self:
        """The same after a signature of this kind was found valid ([MS-MQDMPR] 3.1.7.1.31)."""
        flags = self.flags & ~SecurityFlags.AS | SecurityFlags.AU | kind << 8
        return replace(self, flags=flags)

    @property
    def signature_type(self) -> int:
        """The kind of signature found valid, a `SignatureType` ([MS-MQDMPR] 3.1.7.1.31)."""
        return (self.flags & SecurityFlags.AS) >> 8

    @property
    def provider_type(self) -> int:
        """The kind of the provider that signed, if it is not the default one."""
        return int.from_bytes(self.provider_info[:4], "little")

    @property
    def provider_name(self) -> str:
        """The name of the provider that signed, if it is not the default one."""
        raw = self.provider_info[4:]
        return decode_utf16(raw[: len(raw) & ~1])

    def encode(self) -> bytes:
        """The bytes of the header."""
        items = (
            self.security_id,
            self.encryption_key,
            self.signature,
            self.sender_cert,
            self.provider_info,
        )
        parts = [self.pack()]
        for item, received in zip(items, self.paddings, strict=True):
            parts += (item, padding(len(item), received))
        return b"".join(parts)


def encode_provider(kind: int, name: str) -> bytes:
    """ProviderInfo: the provider an application signed with ([MS-MQMQ] 2.2.20.6)."""
    return pack("<I", kind) + encode_utf16z(name)
