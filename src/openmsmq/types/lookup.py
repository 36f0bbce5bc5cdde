"""Lookup identifiers: 7 - priority in the high byte, then the arrival ([MS-MQDMPR] 3.1.7.1.9)."""

from __future__ import annotations

from typing import Final

from openmsmq.limits import U64_MAX

ARRIVAL_BITS: Final = 56
ARRIVAL_MASK: Final = (1 << ARRIVAL_BITS) - 1
LOOKUP_MAX: Final = U64_MAX
