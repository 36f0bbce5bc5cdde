"""Signed messages that come again under another number: no signed field is unique (MSEC-A38)."""

from __future__ import annotations

from openmsmq.engine.arrivals.limits import REPLAYS_MAX


class Replays:
    """The signatures of the last messages, in memory: a restart forgets them.

    A message that comes again with its own identifier is for the history of duplicates to find.
    """

    def __init__(self) -> None:
        self._seen: dict[bytes, tuple[int, bytes]] = {}
        "When a signature came first and with which message, the oldest first."

    def is_replay(self, signature: bytes, identifier: bytes, now: int, window: int) -> bool:
        """Whether a signature came with another message within `window` seconds; it is noted."""
        seen = self._seen
        while seen:
            oldest = next(iter(seen))
            if seen[oldest][0] + window > now and len(seen) < REPLAYS_MAX:
                break
            del seen[oldest]
        known = seen.setdefault(signature, (now, identifier))
        return known[1] != identifier
