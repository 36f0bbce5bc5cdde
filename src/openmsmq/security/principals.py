"""Principals: the security identifiers of those who ask this manager for something.

Users, tokens and certificates of OpenMSMQ get identifiers under an authority of their own. A name
is written into its identifier, so that a descriptor can be read without a table of accounts.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from struct import Struct
from typing import Final, Literal, get_args

from openmsmq.errors import InvalidParameter
from openmsmq.names.parts import fold
from openmsmq.security.access_check import Token
from openmsmq.security.sid import (
    ADMINISTRATORS,
    ANONYMOUS,
    AUTHENTICATED_USERS,
    EVERYONE,
    NETWORK,
    USERS,
    WELL_KNOWN,
    Sid,
)

Kind = Literal["user", "token", "certificate", "manager"]
AUTHORITY: Final = 0x4F4D51
"`OMQ`, read as a number: no authority of Windows."
UNIX_AUTHORITY: Final = 22
"S-1-22-1-uid and S-1-22-2-gid, as Samba writes users and groups of Unix."
UNIX_USER: Final = "unix"
UNIX_GROUP: Final = "unix-group"
_DIGITS: Final = 11
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_FOLDED: Final = ("user", "manager")
"Kinds whose names count in any case."
_HASHED: Final = 100
"Added to the kind where a name is too long to be written."
_NAME_SIZE: Final = 13 * 4
_WORD: Final = Struct("<I")
ANONYMOUS_TOKEN: Final[Token] = frozenset({ANONYMOUS, NETWORK})
"A message without a proven sender: not Everyone, as on Windows since XP (AMB-48, MSEC-A21)."
EVERYONE_TOKEN: Final[Token] = frozenset({EVERYONE})
"A message that came by SRMP, or of a queue manager ([MC-MQSRM] 3.1.5.1.12, [MS-MQQB] 3.1.5.8.3)."
ADMIN_TOKEN: Final[Token] = frozenset({EVERYONE, AUTHENTICATED_USERS, ADMINISTRATORS})
"A program that works with the directory itself."
_SHORT: Final = {
    "everyone": EVERYONE,
    "anonymous": ANONYMOUS,
    "authenticated": AUTHENTICATED_USERS,
    "administrators": ADMINISTRATORS,
    "network": NETWORK,
    "users": USERS,
}
_SHORT_WORDS: Final = {sid: word for word, sid in _SHORT.items()}


@lru_cache(maxsize=4096)
def principal_sid(kind: Kind, name: str) -> Sid:
    """The identifier of a user, token, certificate or manager; users and managers in any case."""
    text = (fold(name) if kind in _FOLDED else name).encode(errors="surrogatepass")
    number = _KINDS.index(kind) + 1
    if len(text) > _NAME_SIZE:
        number, text = number + _HASHED, hashlib.sha256(text).digest()
    padded = text + bytes(-len(text) % 4)
    words = (_WORD.unpack_from(padded, at)[0] for at in range(0, len(padded), 4))
    return Sid(AUTHORITY, (number, *words))


def unix_sid(number: int) -> Sid:
    """The identifier of a user of this computer (MSEC-A20)."""
    return Sid(UNIX_AUTHORITY, (1, number))


def unix_group_sid(number: int) -> Sid:
    """The identifier of a group of this computer."""
    return Sid(UNIX_AUTHORITY, (2, number))


def local_token(sid: Sid, *groups: Sid) -> Token:
    """Someone of this computer: no one from the network."""
    return frozenset({sid, *groups, EVERYONE, AUTHENTICATED_USERS})


def authenticated_token(sid: Sid, *groups: Sid) -> Token:
    """Someone who has proven who it is."""
    return frozenset({sid, *groups, EVERYONE, AUTHENTICATED_USERS, NETWORK})


def parse_principal(text: str) -> Sid:
    """The identifier of `everyone`, `user:anna`, `token:3f9a01c7`, `unix:1000` or `S-1-...`."""
    known = _SHORT.get(text.lower())
    if known is not None:
        return known
    kind, separator, name = text.partition(":")
    if separator and name and kind in _KINDS:
        return principal_sid(kind, name)
    if kind in (UNIX_USER, UNIX_GROUP) and name.isascii() and name.isdigit():
        number = int(name[:_DIGITS])
        if number < 1 << 32:
            return unix_sid(number) if kind == UNIX_USER else unix_group_sid(number)
    if text[:4].upper() == "S-1-":
        return Sid.from_text(text)
    words = ", ".join(_SHORT)
    raise InvalidParameter(
        f"{text!r}: user:NAME, token:ID, certificate:NAME, manager:NAME, unix:UID, unix-group:GID,"
        f" S-1-..., or one of {words} is needed"
    )


def format_principal(sid: Sid) -> str:
    """What people call someone; the reverse of `parse_principal`."""
    if sid in _SHORT_WORDS:
        return _SHORT_WORDS[sid]
    number, *words = sid.subauthorities or (0,)
    if sid.authority == UNIX_AUTHORITY and number in (1, 2) and len(words) == 1:
        return f"{UNIX_USER if number == 1 else UNIX_GROUP}:{words[0]}"
    if sid.authority == AUTHORITY and 0 < number <= len(_KINDS):
        raw = b"".join(map(_WORD.pack, words)).rstrip(b"\0")
        text = raw.decode(errors="replace")
        kind = _KINDS[number - 1]
        if kind in _FOLDED and principal_sid(kind, text.lower()) == sid:
            text = text.lower()  # case does not matter, and capitals shout
        if text.isprintable() and principal_sid(kind, text) == sid:
            return f"{kind}:{text}"
    return WELL_KNOWN.get(sid) or str(sid)


_GROUPS: Final = frozenset({EVERYONE, AUTHENTICATED_USERS, NETWORK, ADMINISTRATORS, USERS})


def format_token(token: Token) -> str:
    """What people call someone: by its own identifier if it has one, else by its group."""
    own = sorted(token - _GROUPS, key=str) or sorted(token & _GROUPS, key=str)
    return format_principal(own[0]) if own else ""
