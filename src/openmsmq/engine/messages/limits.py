"""Bounds of what is known of messages in memory.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

EXPRESS_SIZE_MAX: Final = 1 << 30
"""Bytes of memory that the express messages of all queues may take. At the limit: a send is
refused, `InsufficientResources`; messages of other managers are refused.
"""
MULTICAST_SIZE_MAX: Final = 60_000
"""Bytes of a message to a group address, which has 64 KB there with its envelope ([MC-MQSRM] 1.6).
At the limit: a send is refused, `MessageTooLarge`.
"""
STALE_MAX: Final = 1000
"""Messages that are gone and still in the heap of express messages by expiry, until the heap is
twice as large as it has to be. At the limit: they are removed from it.
"""
SPARSE_RUNS_MAX: Final = 10_000
"""Runs with few messages left that are remembered, to be taken apart after a while. At the limit:
others keep their room until the next start.
"""
