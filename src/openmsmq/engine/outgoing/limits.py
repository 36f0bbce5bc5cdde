"""Bounds of what is remembered of messages to other managers.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

PARKED_MAX: Final = 10_000
"""FinalAcks that came before the message they are about was sent again, and wait for it. At the
limit: further ones are dropped and counted.
"""
DESTINATIONS_MAX: Final = 10_000
"""Destinations whose last sequence identifier is remembered. At the limit: one is forgotten, and
the floor for new identifiers rises for all.
"""
OVERTAKEN_MAX: Final = 1 << 20
"""Sequences that a destination may have begun between a backup and its restore. At the limit: an
acknowledgement of one further away does not count.
"""
SESSION_KEYS_MAX: Final = 53
"""Keys that bodies are encrypted with again ([MS-MQQB] 3.1.3.1). At the limit: the oldest
half is forgotten.
"""
SESSION_KEYS_DROPPED: Final = SESSION_KEYS_MAX // 2
"Keys of bodies that are forgotten together. At the limit: there is room for as many new ones."
PEERS_MAX: Final = 16
"""Managers that are remembered to have answered at the destination of a sequence. At the limit: the
oldest is forgotten.
"""
ATTEMPTS_MAX: Final = 16
"Attempts to connect that are remembered. At the limit: the oldest is forgotten."
STARTS_MAX: Final = 16384
"""Messages of a queue that were sent, and whose identifiers are remembered until they leave. At the
limit: the oldest half is forgotten, and read again from the store.
"""
