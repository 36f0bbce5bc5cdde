"""Whether a security descriptor lets a caller do something, and which of its entries decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from typing import Final, Literal

from openmsmq.security.descriptor import Ace, AceType, SecurityDescriptor
from openmsmq.security.limits import DECISIONS_MAX
from openmsmq.security.sddl import parse_sddl
from openmsmq.security.sid import ANONYMOUS, EVERYONE, Sid

Token = frozenset[Sid]
"Who a caller is: its own identifier and those of its groups."
INHERIT_ONLY: Final = 0x08
"ACE_HEADER.AceFlags: the entry is for children, not for the object itself ([MS-DTYP] 2.4.4.1)."
_READ_CONTROL: Final = 0x20000
_WRITE_DAC: Final = 0x40000
_OWNER_RIGHTS: Final = _READ_CONTROL | _WRITE_DAC
_NOT_OWNERS: Final = frozenset({ANONYMOUS, EVERYONE})
"Owners that would let everybody change the list; the owner's rights are not for them (MSEC-A41)."
Reason = Literal["no list", "owner", "allowed", "denied", "no entry"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of an access check."""

    is_granted: bool
    reason: Reason
    place: int | None = None
    "The entry that decided, counted from 0; None if none did."
    missing: int = 0
    "The rights that were asked for and not granted."


def check_access(descriptor: SecurityDescriptor, token: Token, wanted: int) -> Decision:
    """The access check ([MS-DTYP] 2.5.3.2): entries in order, until one denies or all is allowed.

    Without a list everything is granted, with an empty one nothing. The owner may read and change
    the list.
    """
    if descriptor.dacl is None:
        return Decision(is_granted=True, reason="no list")
    missing = int(wanted)
    if descriptor.owner in token and descriptor.owner not in _NOT_OWNERS:
        missing &= ~_OWNER_RIGHTS
        if not missing:
            return Decision(is_granted=True, reason="owner")
    for place, ace in enumerate(descriptor.dacl.aces):
        if not missing & ace.mask or not _is_about(ace, token):
            continue
        if ace.type == AceType.DENIED:
            return Decision(False, "denied", place, missing & ace.mask)
        missing &= ~ace.mask
        if not missing:
            return Decision(True, "allowed", place)
    return Decision(is_granted=False, reason="no entry", missing=missing)


def _is_about(ace: Ace, token: Token) -> bool:
    """Whether an entry allows or denies something to a caller."""
    is_simple = ace.type in (AceType.ALLOWED, AceType.DENIED)
    return is_simple and not ace.flags & INHERIT_ONLY and ace.sid in token


@lru_cache(maxsize=DECISIONS_MAX)
def is_granted(sddl: str, token: Token, wanted: int | IntFlag) -> bool:
    """The same for a descriptor in words; decisions are remembered, as long as it stays the same.

    No words at all stand for no list.
    """
    return not sddl or check_access(parse_sddl(sddl), token, wanted).is_granted
