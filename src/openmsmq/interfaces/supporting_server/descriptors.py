"""Security descriptors of queues, part by part ([MS-MQMP] 3.1.4.6, 3.1.4.7)."""

from __future__ import annotations

from dataclasses import replace

from openmsmq.errors import IllegalSecurityDescriptor, InvalidParameter, Malformed
from openmsmq.security.access import SecurityInformation
from openmsmq.security.descriptor import Control, SecurityDescriptor
from openmsmq.security.sddl import format_sddl, parse_sddl

_ALL = (
    SecurityInformation.OWNER
    | SecurityInformation.GROUP
    | SecurityInformation.DACL
    | SecurityInformation.SACL
)


def checked_descriptor(size: int, data: bytes | None) -> SecurityDescriptor | None:
    """What a client gave; None without one ([MS-MQMP] 3.1.4.5)."""
    if data is None:
        if size:
            raise IllegalSecurityDescriptor(f"NULL where {size} bytes are announced")
        return None
    try:
        return SecurityDescriptor.decode(data)
    except Malformed as error:
        raise IllegalSecurityDescriptor(str(error)) from error


def merged(sddl: str, given: SecurityDescriptor, information: int) -> str:
    """Permissions with the named parts of another descriptor ([MS-MQMP] 3.1.4.6)."""
    kept = parse_sddl(sddl)
    parts = _parts(information)
    if SecurityInformation.OWNER in parts:
        kept = replace(kept, owner=given.owner)
    if SecurityInformation.GROUP in parts:
        kept = replace(kept, group=given.group)
    if SecurityInformation.DACL in parts:
        kept = replace(kept, dacl=given.dacl)
    if SecurityInformation.SACL in parts:
        kept = replace(kept, sacl=given.sacl)
    return format_sddl(kept)


def selected(sddl: str, information: int) -> bytes:
    """The named parts of permissions, all of them, self-relative ([MS-MQMP] 3.1.4.7; SS-13)."""
    found = parse_sddl(sddl)
    parts = _parts(information)
    return SecurityDescriptor(
        found.owner if SecurityInformation.OWNER in parts else None,
        found.group if SecurityInformation.GROUP in parts else None,
        found.sacl if SecurityInformation.SACL in parts else None,
        found.dacl if SecurityInformation.DACL in parts else None,
        Control.NONE,
    ).encode()


def _parts(information: int) -> SecurityInformation:
    """The parts that are named ([MS-MQMQ] 2.2.3)."""
    if information & ~int(_ALL):
        raise InvalidParameter(f"security information 0x{information:X}")
    return SecurityInformation(information)
