"""HTTP between simulated managers: requests that are lost, late, repeated, and not answered."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from openmsmq.errors import Malformed
from openmsmq.soap.mime import split_content
from openmsmq.soap.packets import read_message
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import PostResult, PostSource, read_post, status_of
from openmsmq.transports.srmp.outcomes import SrmpOutcome
from openmsmq.transports.srmp.receipt_sender import ReceiptSender
from openmsmq.transports.srmp.reception import SrmpReception, WaitingPost
from openmsmq.transports.srmp.transport import SrmpTransport
from tests.simulation.events import Event
from tests.simulation.network import Net

if TYPE_CHECKING:
    from tests.simulation.node import Node

GIVEN_UP: Final = 10.0
"Seconds until a request without answer has failed."
TOGETHER: Final = 0.002
"Seconds for which posts are gathered."
FAULTS: Final = ((), (0.0, 40.0), (15.0,), (0.0,))
"When a request arrives to which something happens, after its latency; the last is not answered."


class Links:
    """Which managers send to which over HTTP; the others use the binary protocol."""

    def __init__(self, seed: int, share: float) -> None:
        self.chance = Random(f"{seed} http")
        self._share = share
        self._found: dict[tuple[str, str], bool] = {}

    def is_http(self, source: str, target: str) -> bool:
        """Whether messages of one manager go to another over HTTP."""
        pair = source, target
        if pair not in self._found:
            self._found[pair] = self.chance.random() < self._share
        return self._found[pair]

    def name(self, source: str, target: str, queue: str) -> str:
        """The format name by which a queue is sent to."""
        if not self.is_http(source, target):
            return f"DIRECT=OS:{target}\\{queue}"
        return f"DIRECT=HTTP://{target}/msmq/{queue}".replace("\\", "/")


class NodeWeb:
    """What a manager needs to send and take messages over HTTP, while its process lives."""

    def __init__(self, node: Node, net: Net, links: Links) -> None:
        assert node.local is not None
        self._node = node
        self._net = net
        self._chance = links.chance
        self._generation = node.generation
        local = node.local
        local.resolver.http_port = 80
        self.receipts = ReceiptSender(local, node.clock, self)
        self.transport = SrmpTransport(
            local,
            local.dispatcher,
            local.confirmations,
            node.clock,
            self,
            receipts_to=f"http://{node.name}/msmq/private$/order_queue$",
        )
        received = self.transport.received_receipts
        self.reception = SrmpReception(local, node.clock, self.receipts, received)
        self._posts: list[WaitingPost] = []
        self.receipts.resume()

    def stop(self) -> None:
        """Send nothing more."""
        self.transport.stop()
        self.receipts.stop()

    # `openmsmq.transports.srmp.exchange.Poster`

    def call_later(self, seconds: float, call: Callable[[], None]) -> Event:
        """Have something done later."""
        node, generation = self._node, self._generation
        return self._net.scheduler.after(seconds, lambda: node.enter(generation, call))

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> Event:
        """Bring a request to its host, or not; the event of its answer, which may be cancelled."""
        scheduler, chance = self._net.scheduler, self._chance
        self._net.trace.note(f"{self._node.name} posts {_shown(request)}")

        def give_up() -> None:
            answer.cancel()  # what comes now comes too late
            self._node.enter(self._generation, lambda: done(PostResult(None, "no answer")))

        answer = scheduler.after(GIVEN_UP, give_up)
        is_faulty = self._net.is_faulty and chance.random() < 0.2
        fault = chance.choice(FAULTS) if is_faulty else None

        def answered(status: int) -> None:
            if answer.call is not None and fault is not FAULTS[-1]:
                answer.call = None
                wait = chance.random() * 0.01
                result = PostResult(status)
                scheduler.after(
                    wait, lambda: self._node.enter(self._generation, lambda: done(result))
                )

        for wait in (0.0,) if fault is None else fault:
            latency = 0.0005 + chance.random() * 0.01
            scheduler.after(wait + latency, lambda: self._arrive(request, answered))
        return answer

    def _arrive(self, request: Request, answered: Callable[[int], None]) -> None:
        host = self._net.nodes.get(self._net.names.get(request.host, ""))
        web = getattr(host, "web", None)
        if host is not None and host.is_up and isinstance(web, NodeWeb):
            web.take(request, PostSource(self._node.address), answered)

    def take(self, request: Request, source: PostSource, answered: Callable[[int], None]) -> None:
        """Take a request, as the listener does."""
        node = self._node
        if node.is_stopping:
            return

        def done(outcome: SrmpOutcome) -> None:
            self._net.trace.note(f"{node.name} answers {outcome.name} to {_shown(request)}")
            answered(status_of(outcome))

        arrived = int(node.clock.now())
        try:
            post = read_post(request.content_type, request.content, arrived=arrived)
        except Malformed:
            done(SrmpOutcome.MALFORMED)
            return

        def failed(error: Exception) -> None:
            raise error

        self._posts.append(WaitingPost(post, source, done, failed))
        if len(self._posts) == 1:  # those that come within a moment are taken together
            self._net.scheduler.after(TOGETHER, self._take_all)

    def _take_all(self) -> None:
        posts, self._posts = self._posts, []
        if not self._node.is_stopping:
            self._node.enter(self._generation, lambda: self.reception.take_all(posts))


def _shown(request: Request) -> str:
    """A request as traces show it."""
    message = read_message(split_content(request.content_type, request.content))
    envelope = message.envelope
    if envelope.stream_receipt is not None:
        return f"a receipt of {envelope.stream_receipt.last_ordinal} to {request.host}"
    uid = envelope.msmq.app if envelope.msmq is not None else 0
    place = (
        ""
        if envelope.stream is None
        else f" as {envelope.stream.id.number}/{envelope.stream.current}"
    )
    return f"m{uid}{place} to {request.host}{request.target}"
