"""Log lines about messages of other managers: refused ones, and those that are missing."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.incoming import SOURCE, IncomingSequence, destination_text
from openmsmq.properties.message import MessageClass, describe_class
from openmsmq.runtime.logs import log_event

INTERVAL: Final = 60.0
"Seconds between two lines for the same reason."
_log: Final = logging.getLogger(__name__)


class ArrivalLog:
    """Warns of refused messages, so seldom that no peer can fill the log."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` counts seconds and never jumps."""
        self._now = now
        self._next: dict[MessageClass, float] = {}
        "When there may be another line, by reason."
        self._count: Counter[MessageClass] = Counter()
        "Messages since the last line."

    def refused(self, origin: Origin, packet: bytes, reason: MessageClass, is_kept: bool) -> None:
        """A message was refused; the line is about it and counts those without one."""
        self._count[reason] += 1
        now = self._now()
        if now < self._next.get(reason, now):
            return
        self._next[reason] = now + INTERVAL
        log_event(
            _log,
            "messages refused",
            level=logging.WARNING,
            reason=describe_class(reason),
            count=self._count.pop(reason),
            destination=destination_text(packet),
            source=UUID(bytes_le=packet[SOURCE]),
            address=origin.address,
            kept="yes" if is_kept else "no",
        )

    def missing(self, sequence: IncomingSequence) -> None:
        """Messages were passed over, since the store was restored."""
        log_event(
            _log,
            "messages are missing since the restore",
            level=logging.WARNING,
            source=str(UUID(bytes_le=sequence.source)),
            address=sequence.address,
            queue=sequence.name,
            missing=sequence.missing,
        )
