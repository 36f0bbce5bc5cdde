"""Bounds of durable subscriptions.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

OWNER_MAX: Final = 200
"Characters of the name of an owner. At the limit: the call is refused, `InvalidParameter`."
PAST_MAX: Final = 16
"""Owners that a subscription was taken from which are remembered. At the limit: the oldest is
forgotten.
"""
RANGES_MAX: Final = 10_000
"""Ranges of positions that were read and are not committed: as many parts as are under way. At the
limit: the call is refused, `InvalidParameter`.
"""
NAME_MAX: Final = 200
"Characters of the name of a subscription. At the limit: the call is refused, `InvalidParameter`."
LOOK_MAX: Final = 10_000
"""Messages that are looked at in one go. At the limit: other operations have a turn, then the
search goes on.
"""
AGAIN_MAX: Final = 100_000
"""Messages to be looked at again that are remembered one by one. At the limit: the whole queue is
looked at again.
"""
