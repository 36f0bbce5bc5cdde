"""Who asks for something: a name for the history, and what it is entitled to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Right = Literal["read", "send", "admin"]
"""What a token is for, and what an operation needs.

    read     peek at messages, receive them, move them between a queue and its subqueues
    send     send messages
    admin    both, and all else
"""
Role = Literal["read", "send", "read+send", "admin"]
"The rights of a token together."
ROLES: Final[tuple[Role, ...]] = get_args(Role)


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

    @property
    def holder(self) -> str:
        """Whom it was given to: a token, a certificate or a user; empty for none of them."""
        return self.token or self.certificate or self.user

    def has(self, right: Right) -> bool:
        """Whether the role has a right, be it for some queues only."""
        return self.role == "admin" or right in self.role.split("+")


EVERYTHING: Final = Grant("admin")
"For those who need no token."


@dataclass(frozen=True, slots=True)
class Caller:
    """A program, a person or a rule of the configuration that asks the manager for something."""

    name: str = ""
    "What the history of messages names; empty for the manager itself."
    grant: Grant = EVERYTHING


INTERNAL: Final = Caller()
"The manager itself: what it does without being asked, such as to remove expired messages."
