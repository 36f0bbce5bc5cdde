"""What strangers make this manager send to machines that cannot be reached."""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.transports.limits import UNSENT_MAX


class UnsentQueues:
    """Outgoing queues for third machines that strangers named, and since when each waits."""

    def __init__(self, core: Core, is_carried: Callable[[ManagedQueue], bool]) -> None:
        """`is_carried` says whether messages of a queue travel."""
        self._acknowledgements = core.acknowledgements
        self._is_carried = is_carried
        self._since: dict[ManagedQueue, float] = {}

    def sweep(self, now: float) -> bool:
        """Drop queues that have waited for too long; False if there are no such queues."""
        queues = self._acknowledgements.queues(Purpose.UNSOLICITED)
        self._since = {
            queue: self._since.get(queue, now) for queue in queues if not self._is_carried(queue)
        }
        for queue, since in list(self._since.items()):
            if now - since >= UNSENT_MAX:
                del self._since[queue]
                self._acknowledgements.drop(queue)
        return bool(queues)
