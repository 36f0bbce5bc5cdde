"""Permissions in words that people use: who may do what, by the names of rights."""

from __future__ import annotations

from dataclasses import replace
from enum import IntFlag
from typing import Final, TypeVar

from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.security.descriptor import Ace, AceType, Acl, SecurityDescriptor, check_rights
from openmsmq.security.limits import ENTRIES_MAX
from openmsmq.security.principals import parse_principal
from openmsmq.security.sddl import format_sddl, parse_sddl

R = TypeVar("R", QueueRights, ManagerRights)
_GENERIC: Final = (
    (0x10000000, "GENERIC_ALL"),
    (0x40000000, "GENERIC_WRITE"),
    (0x80000000, "GENERIC_READ"),
    (0x20000000, ""),
)
QUEUE_WORDS: Final = {
    "send": QueueRights.WRITE_MESSAGE,
    "peek": QueueRights.PEEK_MESSAGE,
    "receive": QueueRights.RECEIVE_MESSAGE,
    "receive-journal": QueueRights.RECEIVE_JOURNAL_MESSAGE,
    "get-properties": QueueRights.GET_QUEUE_PROPERTIES,
    "set-properties": QueueRights.SET_QUEUE_PROPERTIES,
    "delete": QueueRights.DELETE_QUEUE,
    "get-permissions": QueueRights.GET_QUEUE_PERMISSIONS,
    "set-permissions": QueueRights.CHANGE_QUEUE_PERMISSIONS,
    "take-ownership": QueueRights.TAKE_QUEUE_OWNERSHIP,
    "read": QueueRights.GENERIC_READ,
    "write": QueueRights.GENERIC_WRITE,
    "full": QueueRights.GENERIC_ALL,
}
"Rights to a queue by name; those of [MS-MQMQ] 2.2.24 are names, too."
MANAGER_WORDS: Final = {
    "create-queue": ManagerRights.CREATE_QUEUE,
    "peek-deadletter": ManagerRights.PEEK_DEADLETTER_MESSAGE,
    "receive-deadletter": ManagerRights.RECEIVE_DEADLETTER_MESSAGE,
    "peek-journal": ManagerRights.PEEK_JOURNAL_QUEUE_MESSAGE,
    "receive-journal": ManagerRights.RECEIVE_JOURNAL_QUEUE_MESSAGE,
    "get-properties": ManagerRights.GET_MACHINE_PROPERTIES,
    "set-properties": ManagerRights.SET_MACHINE_PROPERTIES,
    "get-permissions": ManagerRights.GET_MACHINE_PERMISSIONS,
    "set-permissions": ManagerRights.CHANGE_MACHINE_PERMISSIONS,
    "take-ownership": ManagerRights.TAKE_MACHINE_OWNERSHIP,
    "full": ManagerRights.GENERIC_ALL,
}
"Rights to the manager by name."


def parse_rights(text: str, kind: type[R]) -> R:
    """Rights by name, separated by commas: `send,peek` or `WRITE_MESSAGE`."""
    words: dict[str, IntFlag] = dict(_words(kind))
    found = kind(0)
    for word in text.split(","):
        name = word.strip()
        right = words.get(name.lower(), kind.__members__.get(name.upper()))
        if right is None:
            raise IllegalSecurityDescriptor(f"{name!r} is no right: {', '.join(words)}")
        found |= kind(right)
    return found


def format_rights(mask: int, kind: type[R]) -> str:
    """The fewest names for rights, those of the specification where people have no word for one.

    A number stands for bits that have none.
    """
    left: int = mask
    found: list[str] = []
    rights = {word: int(right) for word, right in _words(kind).items()}
    for word in sorted(rights, key=lambda word: -rights[word].bit_count()):
        if left & rights[word] and not rights[word] & ~mask:
            found.append(word)
            left &= ~rights[word]
    for right in kind:
        if left & right:
            found.append(str(right.name))
            left &= ~right
    return ", ".join([*found, *([f"0x{left:x}"] if left else [])])


def parse_entry(text: str, kind: type[R], type_: AceType) -> Ace:
    """An entry as people write it: `user:anna=send,peek`."""
    who, separator, rights = text.rpartition("=")
    if not separator or not who:
        raise IllegalSecurityDescriptor(f"{text!r}: WHO=RIGHTS is needed, everyone=send")
    return Ace(type_, int(parse_rights(rights, kind)), parse_principal(who))


def normal_permissions(text: str, kind: type[IntFlag]) -> str:
    """A descriptor in words as it is kept: checked, with generic rights as those of the object.

    It holds rights of the object only ([MS-MQDMPR] 3.1.1.1, 3.1.1.2).
    """
    if not text:
        return ""
    given = parse_sddl(text)
    for acl in (given.dacl, given.sacl):
        if acl is not None and len(acl.aces) > ENTRIES_MAX:
            raise IllegalSecurityDescriptor(f"{len(acl.aces)} entries; {ENTRIES_MAX} are possible")
    mapped = map_generic(given, kind)
    check_rights(mapped, kind)
    return format_sddl(mapped)


def map_generic(descriptor: SecurityDescriptor, kind: type[IntFlag]) -> SecurityDescriptor:
    """The same with the generic rights of its entries as rights of the object."""

    def mapped(ace: Ace) -> Ace:
        mask = ace.mask
        for bit, name in _GENERIC:
            if mask & bit:
                mask = mask & ~bit | (int(kind.__members__[name]) if name else 0)
        return replace(ace, mask=mask)

    def of(acl: Acl | None) -> Acl | None:
        return None if acl is None else replace(acl, aces=tuple(map(mapped, acl.aces)))

    return replace(descriptor, dacl=of(descriptor.dacl), sacl=of(descriptor.sacl))


def _words(kind: type[IntFlag]) -> dict[str, IntFlag]:
    return dict(QUEUE_WORDS if kind is QueueRights else MANAGER_WORDS)
