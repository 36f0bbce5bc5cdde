"""Security identifiers: users and groups, as Windows names them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.limits import SUBAUTHORITIES_MAX, U32_MAX
from openmsmq.wire.reader import Reader, decode_whole

REVISION: Final = 1
_NUMBER: Final = "(0|[1-9][0-9]{0,9})"
_TEXT: Final = re.compile(
    rf"S-1-({_NUMBER}|0x[0-9A-F]{{12}})(-{_NUMBER}){{0,{SUBAUTHORITIES_MAX}}}",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class Sid:
    """A security identifier ([MS-DTYP] 2.4.2.2)."""

    authority: int
    subauthorities: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.authority < 1 << 48, "an authority has 48 bits"
        assert len(self.subauthorities) <= SUBAUTHORITIES_MAX, "too many subauthorities"
        assert all(0 <= item <= U32_MAX for item in self.subauthorities), "32 bits each"

    @classmethod
    def from_text(cls, text: str) -> Sid:
        """The identifier written as `S-1-5-21-...` ([MS-DTYP] 2.4.2.1)."""
        if not _TEXT.fullmatch(text):
            raise InvalidParameter(f"{text} is not a security identifier")
        authority, *subauthorities = (int(part, 0) for part in text.split("-")[2:])
        if any(part > U32_MAX for part in subauthorities):
            raise InvalidParameter(f"{text} has a subauthority of more than 32 bits")
        return cls(authority, tuple(subauthorities))

    @classmethod
    def read(cls, reader: Reader) -> Sid:
        """The identifier that comes next; its length is in its count."""
        with reader.section("SID"):
            revision = reader.u8("Revision")
            if revision != REVISION:
                reader.fail("Revision", f"{revision} is unknown", offset=reader.offset - 1)
            count = reader.u8("SubAuthorityCount")
            if count > SUBAUTHORITIES_MAX:
                found = f"{count} is more than {SUBAUTHORITIES_MAX}"
                reader.fail("SubAuthorityCount", found, offset=reader.offset - 1)
            authority = int.from_bytes(reader.take(6, "IdentifierAuthority"), "big")
            return cls(authority, tuple(reader.u32("SubAuthority") for _ in range(count)))

    @classmethod
    def decode(cls, data: bytes) -> Sid:
        """The identifier `data` consists of."""
        return decode_whole(data, cls.read)

    def encode(self) -> bytes:
        """The bytes of this identifier."""
        head = bytes((REVISION, len(self.subauthorities))) + self.authority.to_bytes(6, "big")
        return head + b"".join(item.to_bytes(4, "little") for item in self.subauthorities)

    def __str__(self) -> str:
        wide = self.authority > U32_MAX
        authority = f"0x{self.authority:012X}" if wide else str(self.authority)
        return "-".join(("S-1", authority, *map(str, self.subauthorities)))

    @property
    def name(self) -> str | None:
        """The name everybody knows it by, None if it has none ([MS-DTYP] 2.4.2.4)."""
        return WELL_KNOWN.get(self)


NOBODY: Final = Sid(0, (0,))
EVERYONE: Final = Sid(1, (0,))
CREATOR_OWNER: Final = Sid(3, (0,))
NETWORK: Final = Sid(5, (2,))
INTERACTIVE: Final = Sid(5, (4,))
ANONYMOUS: Final = Sid(5, (7,))
AUTHENTICATED_USERS: Final = Sid(5, (11,))
LOCAL_SYSTEM: Final = Sid(5, (18,))
LOCAL_SERVICE: Final = Sid(5, (19,))
NETWORK_SERVICE: Final = Sid(5, (20,))
ADMINISTRATORS: Final = Sid(5, (32, 544))
USERS: Final = Sid(5, (32, 545))
GUESTS: Final = Sid(5, (32, 546))

WELL_KNOWN: Final[Mapping[Sid, str]] = {
    NOBODY: "Nobody",
    EVERYONE: "Everyone",
    CREATOR_OWNER: "Creator Owner",
    NETWORK: "Network",
    INTERACTIVE: "Interactive",
    ANONYMOUS: "Anonymous",
    AUTHENTICATED_USERS: "Authenticated Users",
    LOCAL_SYSTEM: "Local System",
    LOCAL_SERVICE: "Local Service",
    NETWORK_SERVICE: "Network Service",
    ADMINISTRATORS: "Administrators",
    USERS: "Users",
    GUESTS: "Guests",
}
"Identifiers that mean the same on every machine ([MS-DTYP] 2.4.2.4)."
