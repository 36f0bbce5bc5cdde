"""Lookup identifiers: 7 - priority in the high byte, then the arrival ([MS-MQDMPR] 3.1.7.1.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from openmsmq.limits import U64_MAX

ARRIVAL_BITS: Final = 56
ARRIVAL_MASK: Final = (1 << ARRIVAL_BITS) - 1
LOOKUP_MAX: Final = U64_MAX

Range: TypeAlias = tuple[int, int]
"Consecutive lookup identifiers: the first, and the one behind the last."


def ranges_of(lookups: Sequence[int]) -> list[Range]:
    """Lookup identifiers as ranges, in the order that they have."""
    if not lookups:
        return []
    first, end = lookups[0], lookups[-1] + 1
    if end - first == len(lookups) and list(lookups) == list(range(first, end)):
        return [(first, end)]
    found: list[Range] = []
    end = first
    for lookup in lookups:
        if lookup != end:
            found.append((first, end))
            first = lookup
        end = lookup + 1
    found.append((first, end))
    return found


def overlap(ranges: Sequence[Range]) -> bool:
    """Whether some lookup identifier is in two of the ranges."""
    end = -1
    for first, behind in sorted(ranges):
        if first < end:
            return True
        end = behind
    return False
