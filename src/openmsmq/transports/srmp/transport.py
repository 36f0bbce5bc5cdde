"""Sends messages of outgoing queues over HTTP; requests and timers come from a `Poster`.

One request at a time for each queue, so that messages arrive in their order. Transactional messages
stay in their queues: streams are not sent yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Final, Protocol
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.outgoing.transport import AddressKind, PeerSessions, RouteStatus
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import MQError
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.packet.view import PacketView
from openmsmq.transports.srmp.delivery import Delivery, Fate, SrmpTiming, Todo
from openmsmq.transports.srmp.exchange import PostResult, Request, request_for
from openmsmq.transports.timer import Timer, Timers
from openmsmq.types.outgoing import ConnectionStatus, TransferState

NO_STREAMS: Final = "transactional messages cannot be sent over HTTP yet"


class Poster(Timers, Protocol):
    """Posts requests and says what was answered."""

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> None:
        """Post a request: `done` is called once, later."""
        ...


class HttpRoute:
    """The way of one outgoing queue."""

    def __init__(self, queue: ManagedQueue, timing: SrmpTiming) -> None:
        self.queue = queue
        self.delivery = Delivery(timing)
        self.host = ""
        "Where requests go."
        self.timer: Timer | None = None
        self.last_error = ""
        self.connected_since: int | None = None


class SrmpTransport:
    """Serves `DIRECT=HTTP:` and `DIRECT=HTTPS:` addresses ([MC-MQSRM] 3.1.7.7)."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        poster: Poster,
        *,
        manager: UUID,
        timing: SrmpTiming | None = None,
    ) -> None:
        """`manager` is the identity of this queue manager."""
        self._dispatcher = dispatcher
        self._clock = clock
        self._poster = poster
        self._manager = manager
        self._timing = timing or SrmpTiming()
        self._routes: dict[ManagedQueue, HttpRoute] = {}
        self._is_stopped = False
        dispatcher.register([AddressKind.HTTP], self)

    def stop(self) -> None:
        """Post nothing more; messages whose answer is out are sent again after a restart."""
        self._is_stopped = True
        for route in self._routes.values():
            self._cancel(route)

    # What the engine says

    def ready(self, queue: ManagedQueue) -> None:
        """An outgoing queue has messages, or its last one left."""
        if self._is_stopped:
            return
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
            route.delivery.pause()
            self._cancel(route)

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
        is_idle = delivery.may_post and not delivery.under_way
        is_stuck = is_idle and self._dispatcher.first(queue) is not None
        return RouteStatus(
            str(transfer.state),
            next_hop=route.host,
            connected_since=route.connected_since,
            failures=delivery.failures,
            next_retry=wait,
            last_error=NO_STREAMS if is_stuck else route.last_error,
        )

    def sessions(self) -> Mapping[UUID, PeerSessions]:
        """None: a request proves no manager."""
        return {}

    # Requests

    def _go(self, route: HttpRoute) -> None:
        """Post the next message, if it is time."""
        delivery, queue = route.delivery, route.queue
        while delivery.may_post and not delivery.under_way and not self._is_stopped:
            entries = self._dispatcher.take(queue, 1, PACKET_SIZE_MAX, None)
            if not entries:
                break
            self._post(route, entries[0])
        self._update(route)

    def _post(self, route: HttpRoute, entry: Entry) -> None:
        """Send User Message ([MC-MQSRM] 3.1.7.2); one that has no envelope is given up."""
        view = PacketView(entry.packet)
        try:
            request = request_for(view, manager=self._manager, receipts_to="")
        except MQError as error:
            route.last_error = str(error)
            self._dispatcher.refused(route.queue, [entry])
            return
        route.host = request.host
        route.delivery.posted(self._clock.elapsed(), is_stream=False)
        is_secure = str(view.destination).upper().startswith("DIRECT=HTTPS:")

        def done(result: PostResult) -> None:
            self._answered(route, entry, result)

        self._poster.post(request, done, is_secure=is_secure)

    def _answered(self, route: HttpRoute, entry: Entry, result: PostResult) -> None:
        """What became of a message ([MC-MQSRM] 3.1.7.2.5)."""
        if self._is_stopped:
            return
        queue, was = route.queue, route.delivery.state
        fate = route.delivery.answered(result.status, self._clock.elapsed(), is_stream=False)
        match fate:
            case Fate.REMOVE:
                self._dispatcher.delivered(queue, [entry])
            case Fate.DEAD_LETTER:
                self._dispatcher.refused(queue, [entry])
            case _:
                self._dispatcher.take_back(queue)
        status = "" if result.status is None else f"{route.host} answered {result.status}"
        route.last_error = "" if fate is Fate.REMOVE else result.error or status
        if route.delivery.state is not was:
            self._note(route, fate)
        self._go(route)

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
        self._cancel(route)
        at = delivery.next_deadline
        if at is not None and not self._is_stopped:
            wait = max(0.0, at - self._clock.elapsed())
            route.timer = self._poster.call_later(wait, lambda: self._tick(route))

    def _tick(self, route: HttpRoute) -> None:
        todo = route.delivery.tick(self._clock.elapsed())
        if Todo.CLOSE in todo:
            route.connected_since = None
        self._go(route)
        if route.delivery.state is TransferState.DISCONNECTED or route.queue.deleted:
            self._routes.pop(route.queue, None)  # what comes next finds its way anew
            self._cancel(route)

    def _cancel(self, route: HttpRoute) -> None:
        if route.timer is not None:
            route.timer.cancel()
            route.timer = None
