"""Messages of other managers that are not accepted and that their senders never hear of again.

The protocol is silent about a message outside a transaction that is refused: its sender takes it
for delivered. So it is kept here as it came, with the reason, where people find it. (A
transactional one is its sender's dead letter, by a FinalAck.)
"""

from __future__ import annotations

from functools import partial
from typing import Final

from openmsmq import limits
from openmsmq.engine.arrivals.arrival import ArrivalWork, Origin
from openmsmq.engine.arrivals.incoming import SOURCE
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.core import Core
from openmsmq.engine.queues.info import path_name
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.quota import within_quota
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass, describe_class
from openmsmq.security.principals import format_token

REJECTED: Final = "rejected: "
"What the words of statistics begin with that count rejected messages by reason."
REASONS: Final = (
    MessageClass.NACK_ACCESS_DENIED,
    MessageClass.NACK_BAD_DST_Q,
    MessageClass.NACK_BAD_ENCRYPTION,
    MessageClass.NACK_BAD_SIGNATURE,
    MessageClass.NACK_HOP_COUNT_EXCEEDED,
    MessageClass.NACK_NOT_TRANSACTIONAL_MSG,
    MessageClass.NACK_NOT_TRANSACTIONAL_Q,
    MessageClass.NACK_Q_EXCEED_QUOTA,
    MessageClass.NACK_REACH_QUEUE_TIMEOUT,
    MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER,
)
"Why messages are rejected."


class Refusals:
    """Keeps refused messages, up to a bound; what comes twice was dropped before it gets here."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def record(self, work: ArrivalWork, fault: MessageClass, queue: ManagedQueue) -> None:
        """Have the audit log say that a message was refused, once its commit is on disk."""
        origin, audit = work.origin, self._core.audit
        who, words = format_token(origin.principal), describe_class(fault)
        denied = partial(audit.denied_to, who, "send", path_name(queue), words, origin.name)
        if work.batch is None:
            denied()
        else:
            work.batch.after.append(denied)

    def keep(self, batch: Batch | None, packet: bytes, priority: int, reason: MessageClass) -> bool:
        """Keep a message as it came; False if it is counted only. Express ones have no `batch`."""
        core, target = self._core, self._core.queues.refused
        count = core.statistics.count if batch is None else batch.count
        if not (core.settings.keep_refused and self._has_room(batch, len(packet))):
            count("refused and not kept")
            return False
        if batch is None:
            new = NewMessage(packet, priority, NEVER, express=True)
            lookups = core.express.insert(target, [new], message_class=reason, event=Event.REFUSED)
            core.readers.wake(target, lookups)
        else:
            number = batch.store_packet(packet)
            record = Record(number, len(packet), batch.now, NEVER, message_class=reason)
            lookup = batch.insert_stored(target, priority, record)
            words = describe_class(reason)
            batch.note(Event.REFUSED, target, [lookup], identifiers([packet]), "", words)
        count(Event.REFUSED.word)
        return True

    def notify(
        self, batch: Batch | None, packet: bytes, reason: MessageClass, origin: Origin
    ) -> None:
        """Notify a manager whose certificate is pinned that its message is refused, and why.

        The protocol has no word for that outside transactions: others take it for delivered. The
        source of what another manager brings does not hear of it, either.
        """
        if (
            not origin.certified
            or origin.peer != packet[SOURCE]
            or PacketView(packet).transactional
        ):
            return
        core = self._core

        def send(batch: Batch) -> None:
            core.acknowledgements.send_receipt(batch, packet, reason, 0, origin.address)

        if batch is not None:
            send(batch)
        else:
            core.submit(send, core.readers.notify, lambda error: None)

    def _has_room(self, batch: Batch | None, size: int) -> bool:
        """Whether one more may be kept: nothing that counts here may keep other messages out."""
        core, target = self._core, self._core.queues.refused
        count = target.messages + len(target.express)
        used = target.total_size
        if batch is not None:
            count += len(batch.inserted.get(target, ()))
            used = batch.size_of(target)
        return (
            not core.is_throttled
            and count < limits.REFUSED_COUNT_MAX
            and within_quota(target.properties.quota, used, size)
            and within_quota(core.settings.quota, core.total_size, size)
        )
