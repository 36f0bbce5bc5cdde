"""Sequence numbers: 32 bits that wrap (RFC 3208, 3.2)."""

from __future__ import annotations

from openmsmq.limits import U32_MAX

HALF = 1 << 31


def is_before(first: int, second: int) -> bool:
    """Whether a number is before another, in the circle of numbers (RFC 3208, 3.2)."""
    return 0 < (second - first & U32_MAX) < HALF


def distance(first: int, second: int) -> int:
    """How many numbers it takes from one to another."""
    return second - first & U32_MAX


def following(number: int, count: int = 1) -> int:
    """The number that is so far behind another, or before it."""
    return number + count & U32_MAX
