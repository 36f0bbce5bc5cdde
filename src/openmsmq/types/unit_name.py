"""Names of units: transactions that several queue managers and databases have a part in.

A name says who decides, so that whoever finds a part that waits for its outcome knows whom to ask:
`unit:GUID:TOKEN`, the GUID of the manager that decides and a token that nobody can guess. It fits a
global transaction identifier of the X/Open model, 64 characters.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

TOKEN_SIZE: Final = 24
"Hexadecimal digits of a token."
_NAME: Final = re.compile(rf"unit:([0-9a-f]{{32}}):[0-9a-f]{{{TOKEN_SIZE}}}")


def unit_name(decider: UUID, token: str) -> str:
    """The name of a new unit."""
    name = f"unit:{decider.hex}:{token}"
    assert decider_of(name) == decider, "a token has hexadecimal digits, so many of them"
    return name


def decider_of(name: str) -> UUID | None:
    """The manager that decides a unit; None if this is no unit's name."""
    found = _NAME.fullmatch(name)
    return None if found is None else UUID(found[1])
