"""What waits in the queues that a pipeline reads."""

from __future__ import annotations

from collections.abc import Mapping

from openmsmq import Manager
from openmsmq.errors import MQError
from openmsmq.pipelines.spec import Source
from openmsmq.spark.options import KEEP
from openmsmq.spark.service import connect, queue_names


class Waiting:
    """Asks the managers of a source; whoever does not answer is not waited for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._managers: dict[str, Manager] = {}

    def look(self, read: Mapping[str, int]) -> tuple[int | None, int | None]:
        """Messages behind the positions that were read, and the seconds the oldest has waited.

        None for what is not known; of a stream that leaves messages in their queues nothing is.
        """
        if self._source.on_commit == KEEP:
            return None, None
        try:
            return self._look(read)
        except MQError:
            self.close()
            return None, None

    def _look(self, read: Mapping[str, int]) -> tuple[int, int | None]:
        waiting, ages = 0, []
        for address in self._source.place.managers:
            manager = self._manager(address)
            wanted = set(queue_names(manager, self._source.queues))
            given = {
                info.queue: info.end
                for info in manager.subscriptions()
                if info.name.lower() == self._source.subscription.lower()
            }
            for name in wanted:
                with manager.open_queue(name) as queue:
                    info = queue.info()
                waiting += info.messages
                waiting += max(0, given.get(info.name, 0) - read.get(f"{address} {info.name}", 0))
                ages += [] if info.oldest_age is None else [info.oldest_age]
        return waiting, max(ages, default=None)

    def _manager(self, address: str) -> Manager:
        if address not in self._managers:
            options = self._source.place.parsed()
            self._managers[address] = connect(options, address, patient=False)
        return self._managers[address]

    def close(self) -> None:
        """Let go of the managers."""
        for manager in self._managers.values():
            manager.close()
        self._managers.clear()
