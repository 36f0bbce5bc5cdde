"""Bounds of topologies.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

FILE_SIZE_MAX: Final = 4 << 20
"Bytes of a topology file, counted as characters. At the limit: a longer one is refused."
SITES_MAX: Final = 10_000
"Sites of a topology file. At the limit: a file with more is refused."
LINKS_MAX: Final = 50_000
"Links of a topology file. At the limit: a file with more is refused."
MANAGERS_MAX: Final = 50_000
"Managers of a topology file. At the limit: a file with more is refused."
NAME_MAX: Final = 255
"Characters of the name of a site or a manager. At the limit: a longer one is refused."
DECISIONS_MAX: Final = 10_000
"""Destinations whose next hops are remembered. At the limit: all are forgotten, and worked out
again when they are needed.
"""
