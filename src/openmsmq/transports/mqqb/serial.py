"""Sequence numbers of a session: 16 bits that wrap (AMB-32)."""

from __future__ import annotations

from typing import Final

MASK: Final = 0xFFFF
HALF: Final = 0x8000


def distance(start: int, end: int) -> int:
    """How far it is from one number up to another, around the corner if need be."""
    return (end - start) & MASK


def is_at_most(number: int, limit: int) -> bool:
    """Whether a number comes before a limit or is it; both lie near each other."""
    return (limit - number) & MASK < HALF
