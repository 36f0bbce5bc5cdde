"""Units of work: transactions that several queue managers and databases take part in.

A name says who decides, so that for a part that waits for its outcome it is known whom to ask:
`unit:GUID:TOKEN`, the GUID of the manager that decides and a token that cannot be guessed. It fits
a global transaction identifier of the X/Open model, 64 characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

TOKEN_SIZE: Final = 24
"Hexadecimal digits of a token."
_NAME: Final = re.compile(rf"unit:([0-9a-f]{{32}}):[0-9a-f]{{{TOKEN_SIZE}}}")


def unit_name(decider: UUID, token: str) -> str:
    """The name of a new unit."""
    name = f"unit:{decider.hex}:{token}"
    assert decider_of(name) == decider, "a token has a fixed number of hexadecimal digits"
    return name


def decider_of(name: str) -> UUID | None:
    """The manager that decides a unit; None if this is no unit's name."""
    found = _NAME.fullmatch(name)
    return None if found is None else UUID(found[1])


class UnitState(StrEnum):
    """Where a unit stands, for those who find a part of it."""

    ACTIVE = "active"
    "Its program is active; nothing is decided."
    COMMITTING = "committing"
    "It is committed, and its program tells the participants."
    COMMITTED = "committed"
    "It is committed, and its program is gone: prepared parts of it are to be committed."
    ABORTED = "aborted"
    "It is not committed and never will be."


@dataclass(frozen=True, slots=True)
class UnitInfo:
    """A unit that is committed, while some of its participants have not confirmed it."""

    name: str
    state: str
    "`committing` while its program tells the participants, `committed` if that program is gone."
    age: int
    "Seconds since it was decided."
    waiting: tuple[str, ...]
    "The participants that have not confirmed."
