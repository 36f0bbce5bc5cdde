"""Sends messages of outgoing queues over HTTP; requests and timers come from a `Poster`.

Messages of a stream are posted one by one, in their order, and stay in their queue until a receipt
says that they have arrived; the first is answered before others follow, for it opens the stream.
Other messages are posted several at a time once the destination answers: these may overtake each
other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Final
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.incoming import transaction_of
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.outgoing.transport import AddressKind, PeerSessions, ResendStatus, RouteStatus
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import FORWARDED, ManagedQueue
from openmsmq.engine.storage.layout import Owed, flags_of
from openmsmq.errors import MQError
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.soap.addresses import address_of
from openmsmq.soap.signature import Signer
from openmsmq.transports.srmp.delivery import RETRY_FIRST_S, Delivery, Fate, SrmpTiming, Todo
from openmsmq.transports.srmp.exchange import (
    Poster,
    PostResult,
    forwarded_request,
    request_for,
    verdict_of,
)
from openmsmq.transports.srmp.limits import (
    POSTS_MAX,
    REMOVAL_S,
    REMOVED_TOGETHER_MAX,
    TAKEN_SIZE_MAX,
)
from openmsmq.transports.srmp.received_receipts import ReceivedReceipts
from openmsmq.transports.srmp.redirection import Redirections
from openmsmq.transports.timer import Timer
from openmsmq.types.outgoing import ConnectionStatus, TransferState

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value


class HttpRoute:
    """The way of one outgoing queue."""

    def __init__(self, queue: ManagedQueue, timing: SrmpTiming) -> None:
        self.queue = queue
        self.delivery = Delivery(timing)
        self.host = ""
        "Where requests go."
        self.timer: Timer | None = None
        self.timer_at = 0.0
        self.last_error = ""
        self.connected_since: int | None = None
        self.is_streaming = False
        "A message of a stream is under way, or a stream is being opened."
        self.is_due = False
        "Requests were answered, and others may follow."
        self.taken: list[Entry] = []
        "Messages that were taken over, and are removed together."
        self.removal: Timer | None = None


class SrmpTransport:
    """Serves `DIRECT=HTTP:` and `DIRECT=HTTPS:` addresses ([MC-MQSRM] 3.1.7.7)."""

    def __init__(
        self,
        core: Core,
        dispatcher: Dispatcher,
        confirmations: Confirmations,
        clock: Clock,
        poster: Poster,
        *,
        receipts_to: str,
        posts_max: Callable[[str], int] = lambda host: POSTS_MAX,
        timing: SrmpTiming | None = None,
        signer: Signer | None = None,
        redirections: Redirections | None = None,
    ) -> None:
        """`receipts_to` is the URL at which this manager takes stream receipts.

        `posts_max` says how many messages of a queue are posted to a host at a time; `signer` signs
        them; `redirections` say where they go instead of where they are for.
        """
        self._redirections = redirections or Redirections()
        self._signer = signer
        self._core = core
        self._dispatcher = dispatcher
        self._confirmations = confirmations
        self._clock = clock
        self._poster = poster
        self._receipts_to = receipts_to
        self._posts_max = posts_max
        self._timing = timing or SrmpTiming()
        self._routes: dict[ManagedQueue, HttpRoute] = {}
        self._is_stopped = False
        self.posts: Counter[str] = Counter()
        "Requests by what their answers mean."
        self.received: Counter[str] = Counter()
        "Requests of others by outcome, as the listener counts them."
        self.received_receipts = ReceivedReceipts(core, dispatcher, confirmations, self._progress)
        dispatcher.register([AddressKind.HTTP], self)

    def stop(self) -> None:
        """Post nothing more; messages whose answer is out are sent again after a restart."""
        for route in self._routes.values():
            self._remove(route)
            self._cancel(route)
        self._is_stopped = True

    # What the engine says

    def ready(self, queue: ManagedQueue) -> None:
        """An outgoing queue has messages, or its last one left."""
        if self._is_stopped:
            return
        if queue.sequences.all and not queue.messages:
            self._confirmations.finish(queue)
        route = self._routes.get(queue)
        if route is None:
            if not queue.messages and not len(queue.express):
                return
            route = self._routes[queue] = HttpRoute(queue, self._timing)
        route.delivery.resume()
        self._go(route)

    def withdrawn(self, queue: ManagedQueue) -> None:
        """Pause Queue ([MC-MQSRM] 3.1.7.4); a request under way is answered to no effect."""
        route = self._routes.get(queue)
        if route is not None:
            self._remove(route)
            route.delivery.pause()
            self._cancel(route)

    def offline(self) -> None:
        """There are no sessions: the reception looks with each message."""

    def retry(self, queue: ManagedQueue) -> None:
        """Make the next attempt to send now."""
        route = self._routes.get(queue)
        if route is not None:
            route.delivery.retry()
        self.ready(queue)

    def route(self, queue: ManagedQueue) -> RouteStatus:
        """How the way to the destination of a queue stands."""
        transfer, route = queue.transfer, self._routes.get(queue)
        assert transfer is not None, "an outgoing queue knows its way"
        if route is None:
            return RouteStatus(str(transfer.state))
        delivery = route.delivery
        retry_at = delivery.retry_at
        wait = None if retry_at is None else max(0, ceil(retry_at - self._clock.elapsed()))
        return RouteStatus(
            str(transfer.state),
            next_hop=route.host,
            connected_since=route.connected_since,
            failures=delivery.failures,
            next_retry=wait,
            last_error=route.last_error,
            resends=delivery.resends,
        )

    def resend(self, queue: ManagedQueue) -> None:
        """Post transactional messages again that no receipt came for, now."""
        route = self._routes.get(queue)
        if route is not None and route.delivery.resend(self._clock.elapsed()):
            if not route.is_streaming:
                self._dispatcher.take_back_transactional(queue)
            self._go(route)

    def resend_status(self, queue: ManagedQueue) -> ResendStatus:
        """When that is done next."""
        route = self._routes.get(queue)
        return (
            ResendStatus() if route is None else route.delivery.resend_status(self._clock.elapsed())
        )

    def sessions(self) -> Mapping[UUID, PeerSessions]:
        """None: a request proves no manager."""
        return {}

    # Requests

    def _go(self, route: HttpRoute) -> None:
        """Post what can be posted now: plain messages, then the next one of a stream."""
        route.is_due = False
        queue, take = route.queue, self._dispatcher.take
        while room := self._room(route):
            entries = take(queue, room, TAKEN_SIZE_MAX, None)
            for entry in entries:
                self._post(route, entry, None)
            if entries:
                continue
            entries = [] if route.is_streaming else take(queue, 1, PACKET_SIZE_MAX, NO_GUID)
            if not entries:
                break
            entry = entries[0]
            if flags_of(entry.record) & _TRANSACTIONAL:
                self._post_next(route, entry)
            else:
                self._post(route, entry, None)
        self._update(route)

    def _room(self, route: HttpRoute) -> int:
        """How many requests may be begun; a destination that is silent gets one only."""
        delivery = route.delivery
        if self._is_stopped or not delivery.may_post:
            return 0
        is_connected = delivery.state is TransferState.CONNECTED
        limit = self._posts_max(route.host) if is_connected else 1
        return max(0, limit - delivery.under_way)

    def _post_next(self, route: HttpRoute, entry: Entry) -> None:
        """The next message of a stream ([MC-MQSRM] 3.1.7.2.3).

        If the first one left before it was answered, this one opens a stream of its own.
        """
        queue = route.queue
        sequence = queue.sequences.of(entry.lookup)
        assert sequence is not None, "a transactional message on its way has a sequence"
        route.is_streaming = True
        if sequence.is_established or sequence.number(entry.lookup) == 1:
            self._post(route, entry, sequence)
            return
        if self._dispatcher.is_awaited(queue, sequence.lookup(1), entry.lookup):
            self._release(queue, entry, sequence)  # that the first was answered is not on disk yet
            self._poster.call_later(RETRY_FIRST_S, lambda: self._establish(route, sequence))
            return
        self._dispatcher.take_back_transactional(queue)
        self._dispatcher.begin_again(queue, entry.lookup, lambda: self._go_on(route))

    def _establish(self, route: HttpRoute, sequence: OutgoingSequence) -> None:
        """The first message of a stream was answered: others may follow, when that is on disk."""
        self._dispatcher.establish(route.queue, sequence, lambda: self._go_on(route))

    def _go_on(self, route: HttpRoute) -> None:
        """The next message of a stream may be posted, once all of this commit have been answered.

        What another operation of it has written is on disk, but not in memory yet.
        """

        def go() -> None:
            route.is_streaming = False
            self._go(route)

        self._poster.call_later(0.0, go)

    def _post(self, route: HttpRoute, entry: Entry, sequence: OutgoingSequence | None) -> None:
        """Send User Message ([MC-MQSRM] 3.1.7.2); one that has no envelope is given up."""
        view = PacketView(entry.packet)
        is_stream = sequence is not None
        redirections, url = self._redirections, _address(view)
        try:
            request = (
                forwarded_request(view, manager=self._core.identity)
                if route.queue.properties.purpose in FORWARDED
                else request_for(
                    view,
                    manager=self._core.identity,
                    receipts_to=redirections.receipts_to(url, self._receipts_to),
                    signer=self._signer,
                )
            )
        except MQError as error:
            route.last_error = str(error)
            self._give_up(route, entry, is_stream=is_stream)
            return
        is_secure = url.lower().startswith("https:")
        if (redirected := redirections.next_hop(url)) is not None:
            host, is_secure = redirected
            request = replace(request, host=host)
        route.host = request.host
        route.delivery.posted(self._clock.elapsed(), is_stream=is_stream)

        def done(result: PostResult) -> None:
            self._answered(route, entry, sequence, result)

        self._poster.post(request, done, is_secure=is_secure)

    def _answered(
        self,
        route: HttpRoute,
        entry: Entry,
        sequence: OutgoingSequence | None,
        result: PostResult,
    ) -> None:
        """What became of a message ([MC-MQSRM] 3.1.7.2.5)."""
        if self._is_stopped:
            return
        queue, delivery = route.queue, route.delivery
        was, is_stream = delivery.state, sequence is not None
        self.posts[verdict_of(result.status).name.lower()] += 1
        fate = delivery.answered(result.status, self._clock.elapsed(), is_stream=is_stream)
        status = "" if result.status is None else f"{route.host} answered {result.status}"
        is_taken = fate in (Fate.REMOVE, Fate.AWAIT)
        route.last_error = "" if is_taken else result.error or status
        if delivery.state is not was:
            self._note(route, fate)
        if is_stream:
            route.is_streaming = False
        match fate:
            case Fate.REMOVE:
                self._taken(route, entry)
            case Fate.AWAIT if sequence is not None and not sequence.is_established:
                route.is_streaming = True
                self._establish(route, sequence)
            case Fate.DEAD_LETTER:
                self._give_up(route, entry, is_stream=is_stream)
            case Fate.KEEP:
                self._release(queue, entry, sequence)
        self._follow(route)

    def _release(
        self, queue: ManagedQueue, entry: Entry, sequence: OutgoingSequence | None
    ) -> None:
        """A message waits in its place again; in a stream all before it were answered."""
        if sequence is not None:
            queue.sequences.send_again(sequence, transaction_of(entry.packet)[3])
        self._dispatcher.release(queue, entry)

    def _follow(self, route: HttpRoute) -> None:
        """Post what comes next; answers that come together are followed by requests together."""
        delivery = route.delivery
        if not delivery.under_way:
            self._go(route)
            if not delivery.under_way:  # there is nothing to wait for
                self._remove(route)
        elif not route.is_due:
            route.is_due = True
            self._poster.call_later(0.0, lambda: self._go(route) if route.is_due else None)

    def _taken(self, route: HttpRoute, entry: Entry) -> None:
        """A message was taken over: it is removed with others that are, in one commit.

        If this process ends before, it is sent again, and known at its receiver.
        """
        route.taken.append(entry)
        if len(route.taken) >= REMOVED_TOGETHER_MAX:
            self._remove(route)
        elif route.removal is None:
            route.removal = self._poster.call_later(REMOVAL_S, lambda: self._remove(route))

    def _remove(self, route: HttpRoute) -> None:
        if route.removal is not None:
            route.removal.cancel()
            route.removal = None
        entries, route.taken = route.taken, []
        if entries and not self._is_stopped:
            self._dispatcher.delivered(route.queue, entries)

    def _give_up(self, route: HttpRoute, entry: Entry, *, is_stream: bool) -> None:
        """A message will never be taken; in a stream the next one closes the gap (HTTP-38)."""
        if is_stream:
            route.is_streaming = False
            route.queue.sequences.start_over()
        self._dispatcher.refused(route.queue, [entry])

    def _progress(self, queue: ManagedQueue) -> None:
        """A stream receipt acknowledged messages ([MC-MQSRM] 3.1.5.1.8.2)."""
        route = self._routes.get(queue)
        if route is not None:
            is_waiting = bool(self._dispatcher.in_transit(queue))
            route.delivery.receipted(self._clock.elapsed(), is_waiting=is_waiting)
            self._update(route)

    def _note(self, route: HttpRoute, fate: Fate) -> None:
        """Remember how an attempt went (ConnectionHistory, [MS-MQDMPR] 3.1.1.3)."""
        now = int(self._clock.now())
        is_connected = fate is not Fate.KEEP
        route.connected_since = now if is_connected else None
        status = ConnectionStatus.ESTABLISHED if is_connected else ConnectionStatus.UNKNOWN_FAILURE
        if route.queue.transfer is not None:
            route.queue.transfer.attempts.append(Attempt(status, now, 0, (route.host,)))

    # Time

    def _update(self, route: HttpRoute) -> None:
        """Show the state, and set the timer for the next deadline."""
        delivery, queue = route.delivery, route.queue
        is_withdrawn = delivery.state is TransferState.ON_HOLD
        if queue.transfer is not None and not is_withdrawn:  # why it is, the engine knows
            queue.transfer.set_state(delivery.state)
        at = delivery.next_deadline
        if at is None or self._is_stopped:
            self._cancel(route)
        elif route.timer is None or at < route.timer_at:  # else it looks when it is due
            self._cancel(route)
            wait = max(0.0, at - self._clock.elapsed())
            route.timer_at = at
            route.timer = self._poster.call_later(wait, lambda: self._tick(route))

    def _tick(self, route: HttpRoute) -> None:
        route.timer = None
        queue, delivery = route.queue, route.delivery
        todo = delivery.tick(self._clock.elapsed())
        if Todo.CLOSE in todo:
            route.connected_since = None
        if Todo.RESEND in todo and not route.is_streaming:
            self._dispatcher.take_back_transactional(queue)
        self._go(route)
        is_idle = (
            delivery.state is TransferState.DISCONNECTED and delivery.is_over and not route.taken
        )
        if is_idle or queue.deleted:
            self._routes.pop(queue, None)  # what comes next finds its way anew
            self._cancel(route)

    def _cancel(self, route: HttpRoute) -> None:
        if route.timer is not None:
            route.timer.cancel()
            route.timer = None


def _address(view: PacketView) -> str:
    """The URL that a message is for."""
    destination = view.destination
    assert destination is not None, "a message of an outgoing queue has a destination"
    return address_of(destination)
