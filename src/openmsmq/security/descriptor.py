"""Security descriptors: who owns an object, and who may do what to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final

from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.limits import U16_MAX
from openmsmq.security.sid import Sid
from openmsmq.wire.fixed import U8, U16, U32, Fixed, fixed
from openmsmq.wire.reader import Reader

REVISION: Final = 1
ACL_REVISION: Final = 2
ACL_REVISIONS: Final = frozenset({ACL_REVISION, 4})
"4 is for entries about parts of directory objects."


class AceType(IntEnum):
    """The kinds of entry whose SID follows right after their mask ([MS-DTYP] 2.4.4.1)."""

    ALLOWED = 0x00
    DENIED = 0x01
    AUDIT = 0x02
    ALLOWED_CALLBACK = 0x09
    DENIED_CALLBACK = 0x0A
    AUDIT_CALLBACK = 0x0D
    LABEL = 0x11
    ATTRIBUTE = 0x12
    POLICY = 0x13


_NAMING: Final[frozenset[int]] = frozenset(AceType)
_NO_RIGHTS: Final[frozenset[int]] = frozenset({AceType.LABEL, AceType.ATTRIBUTE, AceType.POLICY})
"What their mask says is not about rights."


class Control(IntFlag):
    """SECURITY_DESCRIPTOR.Control ([MS-DTYP] 2.4.6)."""

    NONE = 0
    SELF_RELATIVE = 0x8000
    MANAGER_CONTROL_VALID = 0x4000
    SACL_PROTECTED = 0x2000
    DACL_PROTECTED = 0x1000
    SACL_INHERITED = 0x0800
    DACL_INHERITED = 0x0400
    SACL_TO_INHERIT = 0x0200
    DACL_TO_INHERIT = 0x0100
    SERVER_SECURITY = 0x0080
    DACL_TRUSTED = 0x0040
    SACL_DEFAULTED = 0x0020
    SACL_PRESENT = 0x0010
    DACL_DEFAULTED = 0x0008
    DACL_PRESENT = 0x0004
    GROUP_DEFAULTED = 0x0002
    OWNER_DEFAULTED = 0x0001


_FORM: Final = (
    Control.SELF_RELATIVE
    | Control.MANAGER_CONTROL_VALID
    | Control.SACL_PRESENT
    | Control.DACL_PRESENT
)
"What the bytes need and the value does not."


@fixed
class AceStart(Fixed):
    """ACE_HEADER and the mask that follows it in every entry ([MS-DTYP] 2.4.4.1, 2.4.4.2)."""

    ace_type: U8
    ace_flags: U8
    ace_size: U16
    mask: U32


@fixed
class AclStart(Fixed):
    """The fixed part of an ACL ([MS-DTYP] 2.4.5)."""

    acl_revision: U8
    sbz1: U8
    acl_size: U16
    ace_count: U16
    sbz2: U16


@fixed
class DescriptorStart(Fixed):
    """The fixed part of a SECURITY_DESCRIPTOR ([MS-DTYP] 2.4.6)."""

    revision: U8
    sbz1: U8
    control: U16
    offset_owner: U32
    offset_group: U32
    offset_sacl: U32
    offset_dacl: U32


assert (AceStart.SIZE, AclStart.SIZE, DescriptorStart.SIZE) == (8, 8, 20)


@dataclass(frozen=True, slots=True)
class Ace:
    """An entry of an access control list ([MS-DTYP] 2.4.4)."""

    type: int
    "An `AceType`; others keep all but their mask in `rest`."
    mask: int
    sid: Sid | None = None
    "Whom it is about."
    flags: int = 0
    rest: bytes = b""
    "What follows, a multiple of 4 bytes."

    def __post_init__(self) -> None:
        assert (self.type in _NAMING) == (self.sid is not None), "the type decides on the SID"
        assert len(self.rest) % 4 == 0, "entries are aligned to 4 bytes"

    @classmethod
    def read(cls, reader: Reader) -> Ace:
        """The entry that comes next."""
        with reader.section("ACE"):
            origin = reader.offset
            start = reader.fixed(AceStart)
            outer, end = reader.end, origin + start.ace_size
            if start.ace_size % 4 or not reader.offset <= end <= outer:
                found = f"is {start.ace_size}, not a multiple of 4 from 8 to {outer - origin}"
                reader.fail("AceSize", found, offset=origin + AceStart.offset_of("AceSize"))
            reader.end = end
            sid = Sid.read(reader) if start.ace_type in _NAMING else None
            rest = reader.take(reader.remaining, "data")
            reader.end = outer
        return cls(start.ace_type, start.mask, sid, start.ace_flags, rest)

    def encode(self) -> bytes:
        """The bytes of this entry."""
        data = (self.sid.encode() if self.sid is not None else b"") + self.rest
        return AceStart(self.type, self.flags, AceStart.SIZE + len(data), self.mask).pack() + data


@dataclass(frozen=True, slots=True)
class Acl:
    """An access control list ([MS-DTYP] 2.4.5)."""

    aces: tuple[Ace, ...] = ()
    revision: int = ACL_REVISION

    @classmethod
    def read(cls, reader: Reader) -> Acl:
        """The list that comes next; bytes behind its last entry mean nothing."""
        with reader.section("ACL"):
            origin = reader.offset
            start = reader.fixed(AclStart)
            if start.acl_revision not in ACL_REVISIONS:
                found = f"{start.acl_revision} is not 2 or 4"
                reader.fail("AclRevision", found, offset=origin)
            outer, end = reader.end, origin + start.acl_size
            if not reader.offset <= end <= outer:
                found = f"is {start.acl_size}, outside 8 to {outer - origin}"
                reader.fail("AclSize", found, offset=origin + AclStart.offset_of("AclSize"))
            reader.end = end
            if start.ace_count * AceStart.SIZE > reader.remaining:
                found = f"{start.ace_count} entries cannot fit in {reader.remaining} bytes"
                reader.fail("AceCount", found, offset=origin + AclStart.offset_of("AceCount"))
            aces = tuple(Ace.read(reader) for _ in range(start.ace_count))
            reader.offset, reader.end = end, outer
        return cls(aces, start.acl_revision)

    def encode(self) -> bytes:
        """The bytes of this list; `IllegalSecurityDescriptor` if it is too long for them."""
        aces = b"".join(ace.encode() for ace in self.aces)
        size = AclStart.SIZE + len(aces)
        if size > U16_MAX:
            raise IllegalSecurityDescriptor(f"a list of {size} bytes; {U16_MAX} are possible")
        return AclStart(self.revision, 0, size, len(self.aces), 0).pack() + aces


@dataclass(frozen=True, slots=True)
class SecurityDescriptor:
    """SECURITY_DESCRIPTOR in its self-relative form ([MS-DTYP] 2.4.6).

    A list that is announced but not there is as good as none.
    """

    owner: Sid | None = None
    group: Sid | None = None
    sacl: Acl | None = None
    "What is watched."
    dacl: Acl | None = None
    "What is allowed and denied; None allows everything."
    control: Control = Control.NONE
    "Without the bits that only tell of the form."

    @classmethod
    def decode(cls, data: bytes) -> SecurityDescriptor:
        """The descriptor `data` holds; its parts may lie in any order."""
        reader = Reader(data)
        with reader.section("SECURITY_DESCRIPTOR"):
            start = reader.fixed(DescriptorStart)
            if start.revision != REVISION:
                reader.fail("Revision", f"{start.revision} is unknown", offset=0)
            if not start.control & Control.SELF_RELATIVE:
                reader.fail("Control", "SR is 0: not in self-relative form", offset=2)
            sacl_offset = start.offset_sacl if start.control & Control.SACL_PRESENT else 0
            dacl_offset = start.offset_dacl if start.control & Control.DACL_PRESENT else 0
            owner = Sid.read(reader) if _goes_to(reader, "Owner", start.offset_owner) else None
            group = Sid.read(reader) if _goes_to(reader, "Group", start.offset_group) else None
            sacl = Acl.read(reader) if _goes_to(reader, "Sacl", sacl_offset) else None
            dacl = Acl.read(reader) if _goes_to(reader, "Dacl", dacl_offset) else None
        return cls(owner, group, sacl, dacl, Control(start.control & ~_FORM))

    def encode(self) -> bytes:
        """The bytes of this descriptor, its parts in the order of the specification."""
        control = self.control | Control.SELF_RELATIVE
        control |= Control.SACL_PRESENT if self.sacl is not None else 0
        control |= Control.DACL_PRESENT if self.dacl is not None else 0
        offsets: list[int] = []
        data = b""
        for part in (self.owner, self.group, self.sacl, self.dacl):
            offsets.append(0 if part is None else DescriptorStart.SIZE + len(data))
            data += b"" if part is None else part.encode()
        return DescriptorStart(REVISION, 0, control, *offsets).pack() + data


def _goes_to(reader: Reader, part: str, offset: int) -> bool:
    """Place the reader at the part of a descriptor; False if its offset is 0, for none."""
    if offset and not DescriptorStart.SIZE <= offset <= reader.end:
        name = f"Offset{part}"
        found = f"{offset} is outside {DescriptorStart.SIZE} to {reader.end}"
        reader.fail(name, found, offset=DescriptorStart.offset_of(name))
    reader.offset = offset
    return bool(offset)


def check_rights(descriptor: SecurityDescriptor, rights: type[IntFlag]) -> None:
    """Refuse entries that speak of rights the object does not have ([MS-MQMQ] 2.2.23 - 2.2.27).

    ([MS-MQDMPR] 3.1.1.1, 3.1.1.2.)
    """
    known = sum(rights)  # as a plain number: its complement must have the other bits, too
    for acl in (descriptor.dacl, descriptor.sacl):
        for ace in acl.aces if acl is not None else ():
            unknown = ace.mask & ~known
            if unknown and ace.type not in _NO_RIGHTS:
                raise IllegalSecurityDescriptor(
                    f"the entry for {ace.sid} has 0x{unknown:08X}, no {rights.__name__}"
                )
