"""From outgoing queues to whatever transfers messages: which goes next, and what becomes of it.

The rules know no protocol: a port takes one message of a queue at a time and tells later how it
went. The messages stay in their queues until then.
"""

from __future__ import annotations

from typing import Protocol

from openmsmq.errors import UnsupportedOperation
from openmsmq.model.core import Core
from openmsmq.model.layout import ARRIVAL_BITS, ARRIVAL_MASK
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Kind, Queue
from openmsmq.model.reading import REMOVING, Entry, Holder, fetch, first_readable, hold
from openmsmq.model.transfer import Transfer
from openmsmq.properties.message import PRIORITY_MAX, MessageClass

IN_TRANSIT = Holder()
"Holds messages that were handed to the port."


class Port(Protocol):
    """What transfers messages to other queue managers."""

    def send(self, queue: Queue, entry: Entry) -> None:
        """Transfer a message; `Dispatching.delivered` or another outcome follows, at any time."""
        ...


class Dispatching:
    """Hands messages of outgoing queues to a port (DispatchCollection, [MS-MQDMPR] 3.1.1.1)."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.port: Port | None = None
        self.is_online = True
        "ConnectionActive ([MS-MQDMPR] 3.1.1.1): there is a network to send to."
        self._ready: set[Queue] = set()
        "Queues that may have messages to send."
        self._in_progress: dict[Queue, Entry] = {}
        "The message of each queue that the port has (A-43)."
        core.on_outgoing = self._available
        self._ready.update(q for q in core.queues.everything if q.kind is Kind.OUTGOING)

    # What can be sent

    def _available(self, queue: Queue) -> None:
        """Add Message To Dispatch Collection ([MS-MQDMPR] 3.1.7.1.28), for all that is new."""
        self._ready.add(queue)
        self.dispatch()

    def dispatch(self) -> None:
        """Dispatch Send Message ([MS-MQDMPR] 3.1.7.3.9): the most urgent first, then the oldest.

        Of each queue one message is under way at a time (A-43), so that those of a transaction
        never overtake each other.
        """
        while self.port is not None and self.is_online:
            found = [
                (queue, first[0])
                for queue in self._ready - self._in_progress.keys()
                if _transfer(queue).is_open and (first := self._first(queue))
            ]
            if not found:
                return
            queue, (lookup, record, express) = min(
                found, key=lambda item: (-dispatch_priority(item[0], item[1][0]), _age(item[1][0]))
            )
            entries = fetch(self._core.snapshot, queue, [(lookup, record, express)])
            hold(queue, entries, IN_TRANSIT, from_start=False)
            self._in_progress[queue] = entries[0]
            self.port.send(queue, entries[0])

    def _first(self, queue: Queue) -> list[tuple[int, bytes, bool]]:
        core = self._core
        found = first_readable(core.snapshot, queue, 1, 0, core.expiring.overdue)
        if not found:
            self._ready.discard(queue)
        return found

    # What became of it

    def delivered(self, queue: Queue) -> Pending[None]:
        """The message under way reached the next hop: it leaves, a copy stays if one was asked for.

        (Remove Message From Dispatch Collection, [MS-MQDMPR] 3.1.7.1.29.)
        """
        return self._leave(queue, MessageClass.ACK_REACH_QUEUE)

    def expired(self, queue: Queue) -> Pending[None]:
        """It cannot reach its destination in time any more."""
        return self._leave(queue, MessageClass.NACK_REACH_QUEUE_TIMEOUT)

    def _leave(self, queue: Queue, reason: MessageClass) -> Pending[None]:
        pending: Pending[None] = Pending()
        entry = self._in_progress.pop(queue, None)
        if entry is None:  # it was taken back meanwhile, and goes again
            pending.succeed(None)
            return pending
        queue.held[entry.lookup] = REMOVING

        def gone() -> None:
            pending.succeed(None)
            self.dispatch()

        self._core.outcomes.let_go(queue, [entry], reason, gone, pending.fail)
        return pending

    def returned(self, queue: Queue) -> None:
        """The port could not transfer the message under way: it waits in its place again."""
        entry = self._in_progress.pop(queue, None)
        if entry is not None:
            self._core.release(queue, [entry.lookup])
            self._core.settle()

    # People

    def pause(self, queue: Queue) -> None:
        """Pause Queue: all of it is taken back from the port ([MS-MQDMPR] 3.1.7.1.34)."""
        _transfer(queue).pause()
        self.returned(queue)

    def resume(self, queue: Queue) -> None:
        """Resume Queue, and go on sending."""
        _transfer(queue).resume()
        self._available(queue)

    def take_offline(self) -> None:
        """Take Offline ([MS-MQDMPR] 3.1.4.12): send nothing, accept nothing from elsewhere."""
        self.is_online = False
        for queue in list(self._in_progress):
            self.returned(queue)

    def bring_online(self) -> None:
        """Bring Online ([MS-MQDMPR] 3.1.4.13)."""
        self.is_online = True
        self.dispatch()


def dispatch_priority(queue: Queue, lookup: int) -> int:
    """How urgent a message is among those of all queues ([MS-MQDMPR] 3.1.7.1.28)."""
    return queue.properties.base_priority + PRIORITY_MAX - (lookup >> ARRIVAL_BITS)


def _age(lookup: int) -> int:
    """The arrival number: less for messages that are older."""
    return lookup & ARRIVAL_MASK


def _transfer(queue: Queue) -> Transfer:
    if queue.transfer is None:
        raise UnsupportedOperation(f"{queue.name}: only messages on their way can be held back")
    return queue.transfer
