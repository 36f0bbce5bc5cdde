"""Puts messages that were posted into queues, and says what became of each.

A post proves nobody: what is remembered of it is kept for its address or certificate and the source
that it claims, apart from everything that other protocols bring.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import Final

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import ArrivalOutcome, Origin, Refused
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import MQError
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import join_queue
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.soap.kinds import SoapKind
from openmsmq.transports.srmp.exchange import SrmpOutcome, SrmpPost
from openmsmq.transports.srmp.listener import PostSource
from openmsmq.types.queues import QueueKind

_QUEUES: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC)
_RECEIPTS: Final = (SoapKind.STREAM_RECEIPT, SoapKind.FINAL_STREAM_RECEIPT)
_SCOPE: Final = 16
"Bytes that stand for a poster, as many as an identity has."


class SrmpReception:
    """Takes what is posted ([MC-MQSRM] 3.1.5.1)."""

    def __init__(self, manager: QueueManager, driver: LoopDriver, clock: Clock) -> None:
        self._manager = manager
        self._driver = driver
        self._clock = clock

    async def take(self, post: SrmpPost, source: PostSource) -> SrmpOutcome:
        """What became of a message; one that must not be lost is on disk then."""
        if post.kind is None or post.kind in _RECEIPTS:
            return SrmpOutcome.IGNORED
        if post.bad_signature:
            return SrmpOutcome.BAD_SIGNATURE
        view = PacketView(post.packet)
        if (refused := self._driver.call(lambda: self._refusal(view))) is not None:
            return refused
        if post.position is not None:
            return SrmpOutcome.BUSY  # streams are not received yet; the sender keeps the message
        origin, arrivals = self._origin(view, source), self._manager.arrivals
        if not view.recoverable:
            packets = [post.packet]
            return _became(self._driver.call(lambda: arrivals.take_express(origin, packets)))
        done: asyncio.Future[ArrivalOutcome] = asyncio.get_running_loop().create_future()

        def answered(outcome: ArrivalOutcome) -> None:
            if not done.done():
                done.set_result(outcome)

        self._driver.call(lambda: arrivals.take(origin, [(post.packet, None)], answered))
        return _became(await done)

    def _refusal(self, view: PacketView) -> SrmpOutcome | None:
        """Why a message cannot be for a queue here ([MC-MQSRM] 3.1.5.1.3); None if it can."""
        name = view.destination
        assert isinstance(name, DirectName), "a message that was posted has an address"
        queues = self._manager.queues
        if queues.resolver.local(name) is None:
            return SrmpOutcome.NOT_LOCAL
        try:
            queue = queues.find(join_queue(name.queue_parts))
        except MQError:
            return SrmpOutcome.UNKNOWN_QUEUE
        if queue.deleted or queue.kind not in _QUEUES:
            return SrmpOutcome.UNKNOWN_QUEUE
        is_same = queue.properties.transactional == view.transactional
        return None if is_same else SrmpOutcome.WRONG_KIND

    def _origin(self, view: PacketView, source: PostSource) -> Origin:
        """Who posted a message ([MC-MQSRM] 3.1.5.1.11): without identifier it has no duplicates."""
        proof = source.certificate or source.address.encode()
        if view.source_queue_manager == NO_GUID:
            proof = self._clock.new_guid().bytes
        scope = blake2b(proof, digest_size=_SCOPE, person=b"srmp").digest()
        origin = Origin(source.address, f"HTTP from {source.address}", scope)
        origin.entitle(scope, is_proven=False)
        return origin


def _became(outcome: ArrivalOutcome) -> SrmpOutcome:
    """What an outcome of the engine means for a post."""
    if outcome.error is None:
        return SrmpOutcome.STORED
    is_full = isinstance(outcome.error, Refused)
    return SrmpOutcome.MACHINE_FULL if is_full else SrmpOutcome.FAILED
