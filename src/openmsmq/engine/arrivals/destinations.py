"""Which queue a message from another manager goes to, or why it goes to none."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Final
from uuid import UUID

from openmsmq import limits
from openmsmq.engine.arrivals.arrival import Origin, Refused, Rejected
from openmsmq.engine.arrivals.incoming import Head, IncomingSequence
from openmsmq.engine.arrivals.limits import NOTIFICATIONS_KEPT_MAX
from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.system import NOTIFICATION
from openmsmq.errors import MQError
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName, PublicName, parse_format_name
from openmsmq.names.parts import join_queue
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass
from openmsmq.types.queues import VISIBLE

NO_ROUTER: Final = "it is for another manager, and this one is no router"
WENT_ROUND: Final = MessageClass.NACK_HOP_COUNT_EXCEEDED
"The one reason that a manager reports of messages that are not for it ([MS-MQQB] 3.1.5.8.2)."
Targets = dict[tuple[bytes, int], ManagedQueue | Rejected]
"Queues by manager and destination, and whether a message is transactional."


class Destinations:
    """Finds the queues that messages are for ([MS-MQQB] 3.1.5.8.2)."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._addressees = (NO_GUID.bytes_le, core.identity.bytes_le)
        "Messages with these are for queues here; a direct name says nothing else (AMB-51)."

    def is_here(self, head: Head) -> bool:
        """Whether a message is for a queue of this manager ([MS-MQQB] 3.1.5.8.5; AMB-51)."""
        return head.addressee in self._addressees

    def ends_here(self, head: Head) -> bool:
        """Whether no other manager gets a message: it is for a queue or a foreign system here.

        A connector server is the end of a sequence, too (RT-22).
        """
        return head.addressee in self._addressees or head.addressee in self._core.routes.connected

    def message_key(self, head: Head, scope: bytes) -> bytes:
        """By what a message is known that comes twice.

        One for another manager may come again by another way, with a higher hop count (RT-14).
        """
        return head.message_key(scope) if self.ends_here(head) else head.transit_key(scope)

    def find(
        self,
        known: Targets,
        packet: bytes,
        head: Head,
        came_from: bytes,
        target: ManagedQueue | None = None,
    ) -> ManagedQueue | Rejected:
        """The queue a message goes to, or why it goes to none; `known` are those found before.

        `came_from` is the manager that brought it. With a `target` the message is for it, whatever
        its destination says.
        """
        if self._is_late(head):
            return Rejected(MessageClass.NACK_REACH_QUEUE_TIMEOUT)
        if target is not None:
            return target if not target.deleted else Rejected(MessageClass.NACK_BAD_DST_Q)
        return self.queue_of(known, packet, head, came_from)

    def queue_of(
        self, known: Targets, packet: bytes, head: Head, came_from: bytes
    ) -> ManagedQueue | Rejected:
        """The queue that a message is for, by destination and whether it is transactional."""
        is_here = self.is_here(head)
        if not is_here and head.flags & UserFlags.RC >= limits.HOP_COUNT_MAX:
            return Rejected(WENT_ROUND)
        key = head.addressee + head.destination, head.flags & UserFlags.TH
        found = known.get(key)
        if found is None and is_here:
            found = known[key] = self._target(PacketView(packet), head.flags)
        elif found is None:
            found = known[key] = self._forwarded(packet, head, came_from)
        return found

    def _forwarded(self, packet: bytes, head: Head, came_from: bytes) -> ManagedQueue | Rejected:
        """The queue of a message for another manager ([MS-MQQB] 3.1.5.8.2, RT-11).

        It is an outgoing one, or a connector queue for a foreign system ([MS-MQSO] 6.1.9.5; RT-22).
        Only a router takes it, and only for a manager that its topology knows: anyone could have
        this one keep messages for any number of others.
        """
        routes, goal = self._core.routes, UUID(bytes_le=head.addressee)
        if not routes.is_router:
            words = NO_ROUTER if routes.manager else ""
            return Rejected(MessageClass.NACK_BAD_DST_Q, words)
        if goal not in routes.topology.managers:
            return Rejected(MessageClass.NACK_BAD_DST_Q, f"{goal} is not in the topology")
        try:
            name = PacketView(packet).destination
        except MQError:
            name = None
        site = routes.connected.get(head.addressee)
        if site is not None and isinstance(name, PrivateName | PublicName):
            is_ordered = bool(head.flags & UserFlags.TH)
            return self._core.queues.connector(site, transactional=is_ordered)
        is_sideways = routes.is_sideways(UUID(bytes_le=came_from), goal)
        match name:
            case PrivateName():
                return self._core.queues.forwarding(name, is_sideways=is_sideways)
            case PublicName():  # what decides the way is the manager, whatever its queue
                return self._core.queues.forwarding(PrivateName(goal, 0), is_sideways=is_sideways)
        return Rejected(MessageClass.NACK_BAD_DST_Q)

    def check_awaited(self, found: Rejected, packet: bytes, head: Head, origin: Origin) -> None:
        """`Refused` if a message comes again, since the directory is asked for its queue (DS-25).

        It is one for a public queue of this manager that was made elsewhere, and of which it has
        not heard yet, or for one that there is not.
        """
        awaited = self._core.directory.awaited
        is_unknown = found.reason is MessageClass.NACK_BAD_DST_Q and self.is_here(head)
        if awaited is None or not is_unknown or origin.target is not None:
            return
        name, now = PacketView(packet).destination, self._core.timeline.now
        if not isinstance(name, PublicName) or self._core.queues.resolver.local(name) is not None:
            return
        if awaited.is_awaited(name.guid, origin.network, now):
            raise Refused

    def _is_late(self, head: Head) -> bool:
        """Whether a lifetime of a message is over (AMB-41).

        On its way it may be late by what clocks may differ; its TimeToBeReceived goes on here, by
        the same clocks, so that to tolerate more would only let it expire a moment later.
        """
        age = self._core.timeline.wall - head.sent_time
        reach, receive = head.time_to_reach_queue, head.time_to_be_received
        if reach != INFINITE and age > reach + self._core.settings.clock_tolerance:
            return True
        return receive != INFINITE and age > receive

    def _target(self, view: PacketView, flags: int) -> ManagedQueue | Rejected:
        """The same for all messages to a destination that come together."""
        queues = self._core.queues
        try:
            name = view.destination
            if isinstance(name, DirectName) and (words := queues.resolver.misdirected(name)):
                return Rejected(MessageClass.NACK_BAD_DST_Q, words)
            if self._is_notification(name):
                return self._notification(flags)
            queue = None if name is None else self.local(name)
        except MQError:
            queue = None
        if queue is None or queue.deleted or queue.kind not in VISIBLE:
            return Rejected(MessageClass.NACK_BAD_DST_Q)
        transactional = bool(flags & UserFlags.TH)
        if transactional and not queue.properties.transactional:
            return Rejected(MessageClass.NACK_NOT_TRANSACTIONAL_Q)
        if queue.properties.transactional and not transactional:
            return Rejected(MessageClass.NACK_NOT_TRANSACTIONAL_MSG)
        return queue

    def _is_notification(self, name: FormatName | None) -> bool:
        """Whether a message is for the queue of change notifications ([MS-MQCN] 1.9, 3.2.3).

        There is one in an enterprise only; programs do not get to see it ([MS-MQCN] 3.2.1.2.1).
        """
        core = self._core
        return (
            core.directory.takes_notifications
            and isinstance(name, PrivateName)
            and (name.guid, name.number) == (core.identity, NOTIFICATION)
        )

    def _notification(self, flags: int) -> ManagedQueue | Rejected:
        """Their queue, as long as it has room: anyone can send them ([MS-MQCN] 3.2.3)."""
        queue = self._core.queues.get(NOTIFICATION)
        assert queue is not None, "every manager has one"
        if flags & UserFlags.TH:
            return Rejected(MessageClass.NACK_NOT_TRANSACTIONAL_Q)
        if queue.messages + len(queue.express) >= NOTIFICATIONS_KEPT_MAX:
            return Rejected(MessageClass.NACK_Q_EXCEED_QUOTA)
        return queue

    def local(self, name: FormatName) -> ManagedQueue | None:
        """The queue that a name means here; the computer in a direct name was looked at."""
        queues = self._core.queues
        if isinstance(name, DirectName):
            return queues.find(_path(name))
        local = queues.resolver.local(name)
        return None if local is None else queues.find(local)


def streams_to(core: Core, queue: ManagedQueue) -> list[IncomingSequence]:
    """The transactional streams of other managers that end in a queue, by sender and name.

    (IncomingTransactionalTransferInfo, [MC-MQSRM] 3.1.5.1.6.4)
    """
    destinations = Destinations(core)
    found: list[IncomingSequence] = []
    for stream in core.incoming.items():
        if stream.name:  # else it only says where a sender is
            with suppress(MQError):
                if destinations.local(parse_format_name(stream.name)) is queue:
                    found.append(stream)
    return sorted(found, key=lambda stream: (stream.source, stream.name))


@lru_cache(maxsize=4096)
def _path(name: DirectName) -> str:
    return join_queue(name.queue_parts)
