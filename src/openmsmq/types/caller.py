"""Who asks for something: a name for the history, and what it is entitled to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal, get_args

from openmsmq.names.parts import fold
from openmsmq.security.access_check import Token
from openmsmq.security.principals import (
    ADMIN_TOKEN,
    ANONYMOUS_TOKEN,
    UNIX_USER,
    authenticated_token,
    format_principal,
    local_token,
    principal_sid,
    unix_group_sid,
    unix_sid,
)
from openmsmq.security.sid import ADMINISTRATORS, Sid
from openmsmq.security.sid import ANONYMOUS as ANONYMOUS_SID
from openmsmq.types.queues import REFUSED_QUEUE

Right = Literal["watch", "peek", "read", "send", "operate", "admin"]
"""What a token is for, and what an operation needs.

    watch    see queues, counts and histories, but no bodies
    peek     watch, and peek at messages
    read     peek, receive messages, move them between a queue and its subqueues
    send     send messages
    operate  watch, move messages between any queues, return them, and pause, resume and retry
             outgoing queues; to look at what is moved takes `peek`
    admin    all of these, and all else
"""
Role = str
"The rights of a token together: one of them, or several joined by `+`."
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
_INCLUDES: Final[Mapping[Right, frozenset[Right]]] = {
    "watch": frozenset({"watch"}),
    "peek": frozenset({"watch", "peek"}),
    "read": frozenset({"watch", "peek", "read"}),
    "send": frozenset({"send"}),
    "operate": frozenset({"watch", "operate"}),
    "admin": frozenset(RIGHTS),
}
"What a right brings with it."
_HERE: Final = ".\\"
_REFUSED: Final = fold(_HERE + REFUSED_QUEUE)
ANONYMOUS_USER: Final = "anonymous"
"The user that callers without a login are, where the configuration lets them in."


def role_of(rights: Collection[Right]) -> Role:
    """One role for all of these rights, at least one; those that others include are left out."""
    needed = [
        right
        for right in RIGHTS
        if right in rights
        and not any(right in _INCLUDES[other] for other in rights if other != right)
    ]
    return "+".join(needed)


@lru_cache(maxsize=256)
def rights_of(role: Role) -> frozenset[Right]:
    """All rights that a role has; none at all if it is not one."""
    words = role.split("+")
    if not set(words) <= set(RIGHTS):
        return frozenset()
    return frozenset().union(*(_INCLUDES[right] for right in RIGHTS if right in words))


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token or a certificate entitles to; `engine.authorization` decides with it."""

    role: Role
    patterns: tuple[str, ...] = ()
    "Of the names of queues, as `normal_pattern` writes them; none at all: every queue."
    token: str = ""
    "The identifier of the token; empty where none is needed."
    certificate: str = ""
    "The name that `tls.clients` has for the certificate that was shown instead."
    user: str = ""
    "The name of the user that logged on with a password."
    unix: tuple[int, ...] = ()
    "The number of a user of this computer and those of its groups, as its Unix socket shows."

    @property
    def holder(self) -> str:
        """Whom it was given to: a token, a certificate or a user; empty for none of them."""
        unix = f"{UNIX_USER}:{self.unix[0]}" if self.unix else ""
        return self.token or self.certificate or self.user or unix

    def has(self, right: Right) -> bool:
        """Whether the role has a right, be it for some queues only."""
        return right in rights_of(self.role)

    def allows(self, right: Right, *queues: str) -> bool:
        r"""Whether it gives a right on all of these queues, `.\private$\orders`.

        Without a queue it is about the manager itself: settings, counters, and transactions of
        others are for those who are not limited to some queues.
        """
        if not self.has(right):
            return False
        if not queues:
            return not self.patterns
        return all(map(self._covers, queues))

    def _covers(self, queue: str) -> bool:
        """Whether it is about a queue; who may read a queue may read its subqueues.

        What was refused may be secret, and not for this manager: it is for administrators.
        """
        if self.role != "admin" and fold(queue) == _REFUSED:
            return False
        if not self.patterns:
            return True
        name = fold(queue.removeprefix(_HERE))
        names = {name, name.partition(";")[0]}
        return any(fnmatchcase(name, fold(pattern)) for pattern in self.patterns for name in names)

    @property
    def sids(self) -> Token:
        """Who its holder is to the permissions of queues: one identifier, and its groups."""
        return _sids(self)

    @property
    def sid(self) -> Sid:
        """The identifier of its holder; of the group where it has none of its own."""
        return _sid(self)


@lru_cache(maxsize=4096)
def _sid(grant: Grant) -> Sid:
    if fold(grant.user) == fold(ANONYMOUS_USER):
        return ANONYMOUS_SID
    if grant.token:
        return principal_sid("token", grant.token)
    if grant.certificate:
        return principal_sid("certificate", grant.certificate)
    if grant.user:
        return principal_sid("user", grant.user)
    if grant.unix:
        return unix_sid(grant.unix[0])
    return ADMINISTRATORS if grant.has("admin") else ANONYMOUS_SID


@lru_cache(maxsize=4096)
def _sids(grant: Grant) -> Token:
    own = _sid(grant)
    if own == ANONYMOUS_SID:
        return ANONYMOUS_TOKEN
    if own == ADMINISTRATORS:
        return ADMIN_TOKEN
    groups = (ADMINISTRATORS,) if grant.has("admin") else ()
    if grant.unix:
        return local_token(own, *groups, *map(unix_group_sid, grant.unix[1:]))
    return authenticated_token(own, *groups)


EVERYTHING: Final = Grant("admin")
"For those who need no token."
ANONYMOUS: Final = Grant("read+send", user=ANONYMOUS_USER)
'For those who need no token and are not to administer: `app.loopback = "anonymous"`.'


@dataclass(frozen=True, slots=True)
class Caller:
    """A program, a person or a rule of the configuration that asks the manager for something."""

    name: str = ""
    "What the history of messages names; empty for the manager itself."
    grant: Grant = EVERYTHING

    @property
    def principal(self) -> str:
        """Who it is, as permissions name it."""
        return format_principal(self.grant.sid)


INTERNAL: Final = Caller()
"The manager itself: what it does without being asked, such as to remove expired messages."


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token, without its secret."""

    id: str
    role: str
    queues: tuple[str, ...]
    "Patterns of names; none at all: every queue."
    label: str
    created: int
    expires: int | None
    used: int | None
    """Seconds since 1970 UTC, all three; None: never, or for `used` not since the service began."""
