"""Sends stream receipts: how far the messages of a stream have come, as the disk has it.

A receipt that is lost is owed again when its stream's messages come again, so none is kept.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import StreamProgress
from openmsmq.engine.arrivals.incoming import IncomingSequence
from openmsmq.engine.core import Core
from openmsmq.errors import MQError
from openmsmq.names.format import parse_format_name
from openmsmq.soap.addresses import address_of
from openmsmq.soap.envelope import StreamReceipt
from openmsmq.soap.scalars import StreamId
from openmsmq.transports.srmp.exchange import Poster, PostResult, receipt_request, verdict_of
from openmsmq.transports.srmp.limits import RECEIPTS_POSTED_MAX
from openmsmq.transports.srmp.outcomes import Verdict
from openmsmq.transports.srmp.receipts import stream_receipt
from openmsmq.transports.srmp.streams import StreamReceipts
from openmsmq.transports.timer import Alarm, Timer

RESUME_S: Final = 3600
"Seconds before the start in which a message came whose sender may not have its receipt."


class ReceiptSender:
    """Posts stream receipts when they are due ([MC-MQSRM] 3.1.6.3)."""

    def __init__(self, core: Core, clock: Clock, poster: Poster) -> None:
        self._core = core
        self._clock = clock
        self._poster = poster
        self._receipts = StreamReceipts()
        self._alarm = Alarm(poster, clock, self._tick)
        self._posted: dict[bytes, tuple[Timer, int]] = {}
        "Requests under way and how often each was tried, the oldest first."
        self.sent = 0
        self.failures = 0
        self._is_stopped = False

    @property
    def dropped(self) -> int:
        """Receipts that were not sent because too many were owed."""
        return self._receipts.dropped

    def resume(self) -> None:
        """Owe receipts for what came shortly before this process began: they may be lost."""
        since = self._core.timeline.wall - RESUME_S
        for key in self._core.incoming.receipted_since(since):
            self._receipts.came(key, self._clock.elapsed())
        self._set_timer()

    def came(self, progress: StreamProgress) -> None:
        """Messages of a stream are on disk, or have come before."""
        self._receipts.came(progress.key, self._clock.elapsed(), progress.messages)
        self._set_timer()

    def stop(self) -> None:
        """Send nothing more; senders ask again by sending again."""
        self._is_stopped = True
        self._alarm.cancel()
        for request, _ in self._posted.values():
            request.cancel()
        self._posted.clear()

    def _set_timer(self) -> None:
        self._alarm.set(None if self._is_stopped else self._receipts.next_deadline)

    def _tick(self) -> None:
        for key, attempts in self._receipts.tick(self._clock.elapsed()):
            sequence = self._core.incoming.on_disk(key)
            if sequence is not None and sequence.receipts_to:
                self._post(key, sequence, attempts + 1)
        self._set_timer()

    def _post(self, key: bytes, sequence: IncomingSequence, attempts: int) -> None:
        """Post a receipt; one that has been under way longest gives way to it."""
        if key in self._posted:
            self._posted.pop(key)[0].cancel()
        while len(self._posted) >= RECEIPTS_POSTED_MAX:
            oldest = next(iter(self._posted))
            request, tried = self._posted.pop(oldest)
            request.cancel()
            self._fail(oldest, tried)
        core = self._core
        to = sequence.receipts_to
        envelope = stream_receipt(
            StreamReceipt(StreamId(UUID(bytes_le=sequence.source), sequence.id), sequence.number),
            to=to,
            via=_address(sequence.name),
            manager=core.identity,
            message_id=core.next_message_id(),
            now=core.timeline.wall,
        )

        def done(result: PostResult) -> None:
            self._posted.pop(key, None)
            if verdict_of(result.status) is Verdict.RETRY:
                self._fail(key, attempts)
            else:
                self.sent += 1

        is_secure = to.lower().startswith("https:")
        request = self._poster.post(receipt_request(envelope), done, is_secure=is_secure)
        self._posted[key] = request, attempts

    def _fail(self, key: bytes, attempts: int) -> None:
        self.failures += 1
        self._receipts.failed(key, self._clock.elapsed(), attempts)
        self._set_timer()


def _address(name: str) -> str:
    """The URL of the queue that a stream is for; empty if its name was too long to be kept."""
    try:
        return address_of(parse_format_name(name))
    except MQError:
        return ""
