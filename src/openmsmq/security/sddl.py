"""Security descriptors in words: SDDL ([MS-DTYP] 2.5.1)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from openmsmq.errors import IllegalSecurityDescriptor, InvalidParameter
from openmsmq.limits import U32_MAX
from openmsmq.security.descriptor import Ace, AceType, Acl, Control, SecurityDescriptor
from openmsmq.security.limits import SDDL_SIZE_MAX
from openmsmq.security.sid import (
    ADMINISTRATORS,
    ANONYMOUS,
    AUTHENTICATED_USERS,
    CREATOR_OWNER,
    EVERYONE,
    GUESTS,
    INTERACTIVE,
    LOCAL_SERVICE,
    LOCAL_SYSTEM,
    NETWORK,
    NETWORK_SERVICE,
    USERS,
    Sid,
)

NO_LIST: Final = "NO_ACCESS_CONTROL"
"Stands in place of the entries of a list that is not there."
_TRUSTEES: Final = {
    "AN": ANONYMOUS,
    "AU": AUTHENTICATED_USERS,
    "BA": ADMINISTRATORS,
    "BG": GUESTS,
    "BU": USERS,
    "CO": CREATOR_OWNER,
    "IU": INTERACTIVE,
    "LS": LOCAL_SERVICE,
    "NS": NETWORK_SERVICE,
    "NU": NETWORK,
    "SY": LOCAL_SYSTEM,
    "WD": EVERYONE,
}
_TRUSTEE_WORDS: Final = {sid: word for word, sid in _TRUSTEES.items()}
_RIGHTS: Final = {
    "CC": 0x1,
    "DC": 0x2,
    "LC": 0x4,
    "SW": 0x8,
    "RP": 0x10,
    "WP": 0x20,
    "DT": 0x40,
    "LO": 0x80,
    "CR": 0x100,
    "SD": 0x10000,
    "RC": 0x20000,
    "WD": 0x40000,
    "WO": 0x80000,
    "GA": 0x10000000,
    "GX": 0x20000000,
    "GW": 0x40000000,
    "GR": 0x80000000,
}
_TYPES: Final = {"A": AceType.ALLOWED, "D": AceType.DENIED, "AU": AceType.AUDIT}
_TYPE_WORDS: Final[dict[int, str]] = {number: word for word, number in _TYPES.items()}
_ACE_FLAGS: Final = {
    "OI": 0x01,
    "CI": 0x02,
    "NP": 0x04,
    "IO": 0x08,
    "ID": 0x10,
    "SA": 0x40,
    "FA": 0x80,
}
_LIST_FLAGS: Final = {
    "D": {
        "P": Control.DACL_PROTECTED,
        "AR": Control.DACL_TO_INHERIT,
        "AI": Control.DACL_INHERITED,
    },
    "S": {
        "P": Control.SACL_PROTECTED,
        "AR": Control.SACL_TO_INHERIT,
        "AI": Control.SACL_INHERITED,
    },
}
_TRUSTEE: Final = r"S-1-[0-9A-FXa-fx-]+?|[A-Z]{2}"
_ENTRIES: Final = r"(?:\([^()]*\))*"
_WHOLE: Final = re.compile(
    rf"(?:O:(?P<owner>{_TRUSTEE}))?(?:G:(?P<group>{_TRUSTEE}))?"
    rf"(?:D:(?P<dacl>{NO_LIST}|[A-Z]*{_ENTRIES}))?(?:S:(?P<sacl>[A-Z]*{_ENTRIES}))?"
)


@lru_cache(maxsize=1024)
def parse_sddl(text: str) -> SecurityDescriptor:
    """The descriptor that `text` describes; `IllegalSecurityDescriptor` if it describes none.

    Entries about parts of objects and conditional ones are not possible: no queue has parts.
    """
    if len(text) > SDDL_SIZE_MAX:
        raise IllegalSecurityDescriptor(f"{len(text)} characters; {SDDL_SIZE_MAX} are possible")
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise IllegalSecurityDescriptor(f"{text[:80]!r}: O:owner G:group D:list S:list is needed")
    owner, group = (_optional_trustee(found[name]) for name in ("owner", "group"))
    control = Control.NONE
    lists: dict[str, Acl | None] = {}
    for letter, name in (("D", "dacl"), ("S", "sacl")):
        lists[name], flags = _parse_list(letter, found[name])
        control |= flags
    return SecurityDescriptor(owner, group, lists["sacl"], lists["dacl"], control)


def format_sddl(descriptor: SecurityDescriptor) -> str:
    """The words for a descriptor, in the order that other tools write; reverse of `parse_sddl`."""
    words = []
    if descriptor.owner is not None:
        words.append(f"O:{format_trustee(descriptor.owner)}")
    if descriptor.group is not None:
        words.append(f"G:{format_trustee(descriptor.group)}")
    for letter, acl in (("D", descriptor.dacl), ("S", descriptor.sacl)):
        if acl is not None:
            flags = _LIST_FLAGS[letter].items()
            shown = "".join(word for word, flag in flags if descriptor.control & flag)
            words.append(f"{letter}:{shown}{''.join(map(_format_ace, acl.aces))}")
    return "".join(words)


def parse_trustee(text: str) -> Sid:
    """The identifier that `S-1-...` or a word of SDDL such as `WD` stands for."""
    known = _TRUSTEES.get(text)
    if known is not None:
        return known
    try:
        return Sid.from_text(text)
    except InvalidParameter as error:
        words = ", ".join(_TRUSTEES)
        raise IllegalSecurityDescriptor(
            f"{text[:80]!r}: S-1-... or one of {words} is needed"
        ) from error


def format_trustee(sid: Sid) -> str:
    """The shortest words for an identifier."""
    return _TRUSTEE_WORDS.get(sid) or str(sid)


def parse_mask(text: str) -> int:
    """The rights that letters such as `LCWP` or a number such as `0x24` stand for."""
    if text[:2] in ("0x", "0X"):
        try:
            value = int(text, 16)
        except ValueError:
            value = -1
        if not 0 <= value <= U32_MAX:
            raise IllegalSecurityDescriptor(f"{text[:80]!r} is no mask of 32 bits")
        return value
    return _sum_of(text, _RIGHTS, "right")


def format_mask(mask: int) -> str:
    """The letters for rights, or a number if some of them have none."""
    words = [word for word, bit in _RIGHTS.items() if mask & bit]
    return "".join(words) if _sum_of("".join(words), _RIGHTS, "right") == mask else f"0x{mask:x}"


def _optional_trustee(text: str | None) -> Sid | None:
    return None if text is None else parse_trustee(text)


def _parse_list(letter: str, text: str | None) -> tuple[Acl | None, Control]:
    """An access control list, and the flags before its entries."""
    if text is None or text == NO_LIST:
        return None, Control.NONE
    front, *entries = text.split("(")
    flags = Control(_sum_of(front, _LIST_FLAGS[letter], "flag of a list"))
    return Acl(tuple(_parse_ace(entry.removesuffix(")")) for entry in entries)), flags


def _parse_ace(text: str) -> Ace:
    """An entry: `A;;LC;;;WD` allows Everyone to send."""
    parts = text.split(";")
    if len(parts) != 6 or parts[3] or parts[4] or parts[0] not in _TYPES:
        raise IllegalSecurityDescriptor(
            f"({text[:80]}): an entry is (A or D or AU;flags;rights;;;who)"
        )
    kind, flags, mask, _, _, who = parts
    found = _sum_of(flags, _ACE_FLAGS, "flag of an entry")
    return Ace(_TYPES[kind], parse_mask(mask), parse_trustee(who), found)


def _format_ace(ace: Ace) -> str:
    if ace.type not in _TYPE_WORDS or ace.sid is None or ace.rest:
        raise IllegalSecurityDescriptor(f"an entry of type {ace.type} has no words here")
    flags = "".join(word for word, flag in _ACE_FLAGS.items() if ace.flags & flag)
    word, who = _TYPE_WORDS[ace.type], format_trustee(ace.sid)
    return f"({word};{flags};{format_mask(ace.mask)};;;{who})"


def _sum_of(text: str, known: dict[str, int] | dict[str, Control], kind: str) -> int:
    """The flags that words in a row stand for; words have one or two letters."""
    total, at = 0, 0
    while at < len(text):
        size = 2 if text[at : at + 2] in known else 1
        word = text[at : at + size]
        if word not in known:
            raise IllegalSecurityDescriptor(f"{text[at : at + 2]!r} is no {kind}")
        total |= int(known[word])
        at += size
    return total
