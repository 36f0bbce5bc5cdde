"""Puts messages that were posted into queues, and says what became of each.

A post proves no sender. A stream is known by its identifier, which cannot be guessed; a message
outside of streams by its address or certificate, the source that it claims and its identifier. What
is kept of both is apart from everything that other protocols bring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import ArrivalOutcome, ArrivalPosition, Origin, Refused
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import MQError
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import join_queue
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.soap.kinds import SoapKind
from openmsmq.transports.srmp.exchange import PostSource, SrmpPost
from openmsmq.transports.srmp.outcomes import SrmpOutcome
from openmsmq.transports.srmp.receipt_sender import ReceiptSender
from openmsmq.transports.srmp.received_receipts import ReceivedReceipts
from openmsmq.transports.srmp.streams import StreamPosition
from openmsmq.types.queues import QueueKind

_QUEUES: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC)
_RECEIPTS: Final = (SoapKind.STREAM_RECEIPT, SoapKind.FINAL_STREAM_RECEIPT)
ANY_QUEUE: Final = "*"
"In the names of outgoing queues for messages that are passed on to a host."
_SCOPE: Final = 16
"Bytes that stand for a poster, as many as an identity has."
_REJECTED: Final[Mapping[MessageClass, SrmpOutcome]] = {
    MessageClass.NACK_BAD_DST_Q: SrmpOutcome.UNKNOWN_QUEUE,
    MessageClass.NACK_NOT_TRANSACTIONAL_Q: SrmpOutcome.WRONG_KIND,
    MessageClass.NACK_NOT_TRANSACTIONAL_MSG: SrmpOutcome.WRONG_KIND,
    MessageClass.NACK_REACH_QUEUE_TIMEOUT: SrmpOutcome.EXPIRED,
    MessageClass.NACK_Q_EXCEED_QUOTA: SrmpOutcome.QUEUE_FULL,
    MessageClass.NACK_BAD_SIGNATURE: SrmpOutcome.BAD_SIGNATURE,
}
"What the reasons of the engine mean for a post; all others deny access."


class WaitingPost(NamedTuple):
    """A message that came, and who waits for its outcome."""

    post: SrmpPost
    source: PostSource
    done: Callable[[SrmpOutcome], None]
    failed: Callable[[Exception], None]
    "Called if it cannot be taken for a reason of our own."


class SrmpReception:
    """Takes what is posted ([MC-MQSRM] 3.1.5.1)."""

    def __init__(
        self,
        manager: QueueManager,
        clock: Clock,
        sender: ReceiptSender,
        receipts: ReceivedReceipts,
        is_forwarded: Callable[[DirectName], bool] = lambda name: False,
    ) -> None:
        """`sender` answers streams that come, `receipts` are about those that were sent.

        `is_forwarded` says which messages for other computers are passed on.
        """
        self._is_forwarded = is_forwarded
        self._manager = manager
        self._clock = clock
        self._sender = sender
        self._receipts = receipts

    def take(self, post: SrmpPost, source: PostSource, done: Callable[[SrmpOutcome], None]) -> None:
        """Take a message; `done` gets the outcome when what must not be lost is on disk.

        ([MC-MQSRM] 3.1.5.1.6.2, 3.1.5.1.12)
        """
        if post.kind in _RECEIPTS and post.receipt is not None:
            self._receipts.take(post.receipt, post.final, done)
            return
        view = PacketView(post.packet)
        refused = self._refusal(post, view)
        if refused is not None:
            done(refused)
            return
        origin, arrivals = self._origin(view, source, post.position), self._manager.arrivals
        origin.target = self._forwarding(view)
        if not view.recoverable:
            done(_of_one(arrivals.take_express(origin, [post.packet])))
            return
        position = None if post.position is None else _arrival_position(post.position)

        def taken(outcome: ArrivalOutcome) -> None:
            for progress in outcome.progress:
                self._sender.came(progress)
            done(_of_one(outcome))

        arrivals.take(origin, [(post.packet, position)], taken)

    def take_all(self, posts: Iterable[WaitingPost]) -> None:
        """Take messages that came together; plain ones of one sender are one operation.

        While the manager is offline, none is taken ([MS-MQSO] 5.1.1.1).
        """
        if not self._manager.transports.is_online:
            for posted in posts:
                posted.done(SrmpOutcome.BUSY)
            return
        together: dict[tuple[PostSource, UUID], list[WaitingPost]] = {}
        for posted in posts:
            try:
                sender = self._plain_sender(posted)
                if sender is None:
                    self.take(posted.post, posted.source, posted.done)
                else:
                    together.setdefault((posted.source, sender), []).append(posted)
            except Exception as error:
                posted.failed(error)
        for group in together.values():
            self._take_together(group)

    def _plain_sender(self, posted: WaitingPost) -> UUID | None:
        """Who claims to have sent a recoverable message for a queue here; None for all others."""
        post = posted.post
        if post.kind is None or post.position is not None or post.receipt is not None:
            return None
        view = PacketView(post.packet)
        sender = view.source_queue_manager
        if not view.recoverable or sender == NO_GUID or self._refusal(post, view) is not None:
            return None
        return sender if self._forwarding(view) is None else None

    def _take_together(self, group: list[WaitingPost]) -> None:
        """Take recoverable messages of one sender ([MC-MQSRM] 3.1.5.1.12).

        If that fails, each is taken alone: one that cannot be taken must not keep others out.
        """

        def taken(outcome: ArrivalOutcome) -> None:
            is_refused = isinstance(outcome.error, Refused)
            if outcome.error is not None and not is_refused and len(group) > 1:
                for posted in group:
                    self._take_together([posted])
                return
            reasons = {id(packet): reason for packet, reason in outcome.rejected}
            for posted in group:
                posted.done(_became(outcome.error, reasons.get(id(posted.post.packet))))

        try:
            first = group[0]
            origin = self._origin(PacketView(first.post.packet), first.source, None)
            packets = [(posted.post.packet, None) for posted in group]
            self._manager.arrivals.take(origin, packets, taken)
        except Exception as error:
            for posted in group:
                posted.failed(error)

    def _refusal(self, post: SrmpPost, view: PacketView) -> SrmpOutcome | None:
        """Why a message cannot be for a queue here ([MC-MQSRM] 3.1.5.1.3); None if it can."""
        if post.kind is None:
            return SrmpOutcome.IGNORED
        if post.bad_signature:
            return SrmpOutcome.BAD_SIGNATURE
        name = view.destination
        assert isinstance(name, DirectName), "a message that was posted has an address"
        queues = self._manager.queues
        if queues.resolver.local(name) is None:
            is_passed_on = post.position is None and self._is_forwarded(name)
            return None if is_passed_on else SrmpOutcome.NOT_LOCAL
        try:
            queue = queues.find(join_queue(name.queue_parts))
        except MQError:
            return SrmpOutcome.UNKNOWN_QUEUE
        if queue.deleted or queue.kind not in _QUEUES:
            return SrmpOutcome.UNKNOWN_QUEUE
        is_same = queue.properties.transactional == view.transactional
        return None if is_same else SrmpOutcome.WRONG_KIND

    def _forwarding(self, view: PacketView) -> ManagedQueue | None:
        """The outgoing queue of a message for another computer ([MC-MQSRM] 3.1.5.1.3).

        There is one for each host that messages are passed on to, however many queues it has.
        """
        name = view.destination
        assert isinstance(name, DirectName), "a message that was posted has an address"
        queues = self._manager.queues
        if queues.resolver.local(name) is not None:
            return None
        host = DirectName(name.protocol, name.address, ANY_QUEUE, port=name.port)
        return queues.forwarding(host, is_sideways=False)

    def _origin(
        self, view: PacketView, source: PostSource, position: StreamPosition | None
    ) -> Origin:
        """Whose a message is, for order and duplicates ([MC-MQSRM] 3.1.5.1.6.3, 3.1.5.1.11).

        A stream may come from changing addresses, through proxies: its identifier is its proof.
        Identifiers of other messages can be guessed, so that these count for their address only;
        a message without one has no duplicates.
        """
        guid = view.source_queue_manager
        if position is not None:
            proof = source.certificate, position.id.guid.bytes, b"%d" % position.id.number
        elif guid == NO_GUID:
            proof = b"", b"", self._clock.new_guid().bytes
        else:
            proof = source.certificate or source.address.encode(), guid.bytes, b""
        address = source.address
        origin = Origin(address, f"HTTP from {address}", transport=Owed.SRMP.value)
        origin.isolate(_scope(*proof), is_known=bool(source.certificate))
        return origin


@lru_cache(maxsize=1024)
def _scope(*proof: bytes) -> bytes:
    """What stands for a poster."""
    digest = blake2b(digest_size=_SCOPE, person=b"srmp")
    for part in proof:
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.digest()


def _arrival_position(position: StreamPosition) -> ArrivalPosition:
    """The place in a stream as the engine knows it: a TxSequenceID has the same 64 bits."""
    return ArrivalPosition(
        position.id.number,
        position.number,
        position.previous,
        position.wants_final,
        position.receipts_to,
        position.id.guid.bytes_le,
    )


def _became(error: BaseException | None, reason: MessageClass | None) -> SrmpOutcome:
    """What an error or a refusal of the engine means for a post."""
    if error is not None:
        is_full = isinstance(error, Refused)
        return SrmpOutcome.MACHINE_FULL if is_full else SrmpOutcome.FAILED
    if reason is not None:
        return _REJECTED.get(reason, SrmpOutcome.ACCESS_DENIED)
    return SrmpOutcome.STORED


def _of_one(outcome: ArrivalOutcome) -> SrmpOutcome:
    """The same for an operation with one message."""
    reasons = [reason for _, reason in outcome.rejected]
    return _became(outcome.error, reasons[0] if reasons else None)
