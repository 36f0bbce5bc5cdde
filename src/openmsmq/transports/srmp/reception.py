"""Puts messages that were posted into queues, and says what became of each.

A post proves nobody: what is remembered of it is kept for its address or certificate and the source
that it claims, apart from everything that other protocols bring.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import Final

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import Origin, Refused
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.confirmations import Confirmations
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

    def __init__(self, core: Core, driver: LoopDriver, clock: Clock) -> None:
        self._core = core
        self._driver = driver
        self._clock = clock
        self._arrivals = Arrivals(core, Confirmations(core))

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
        origin = self._origin(view, source)
        if not view.recoverable:
            is_taken = self._driver.call(lambda: self._arrivals.take_express(origin, [post.packet]))
            return SrmpOutcome.STORED if is_taken else SrmpOutcome.MACHINE_FULL
        done: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

        def answered(error: BaseException | None) -> None:
            if not done.done():
                done.set_result(error)

        self._driver.call(lambda: self._arrivals.take(origin, [post.packet], answered))
        error = await done
        if error is None:
            return SrmpOutcome.STORED
        return SrmpOutcome.MACHINE_FULL if isinstance(error, Refused) else SrmpOutcome.FAILED

    def _refusal(self, view: PacketView) -> SrmpOutcome | None:
        """Why a message cannot be for a queue here ([MC-MQSRM] 3.1.5.1.3); None if it can."""
        name = view.destination
        assert isinstance(name, DirectName), "a message that was posted has an address"
        queues = self._core.queues
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
