"""What waits in the queues that a pipeline reads."""

from __future__ import annotations

from collections.abc import Mapping

from openmsmq import Manager
from openmsmq.errors import MQError
from openmsmq.pipelines.spec import Source
from openmsmq.spark.offsets import key
from openmsmq.spark.service import connect


class Waiting:
    """Asks the managers of a source; whoever does not answer is not waited for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._managers: dict[str, Manager] = {}

    def look(self, read: Mapping[str, int]) -> tuple[int | None, int | None]:
        """Messages behind the positions that were read, and the seconds the oldest has waited.

        None for what is not known; of messages that stay in their queues, so many at least.
        """
        try:
            return self._look(read)
        except MQError:
            self.close()
            return None, None

    def _look(self, read: Mapping[str, int]) -> tuple[int, int | None]:
        waiting, ages = 0, []
        for address in self._source.place.managers:
            manager = self._manager(address)
            for info in manager.subscriptions():
                position = read.get(key(manager.id, info.queue_id))
                if position is None or info.name.lower() != self._source.subscription.lower():
                    continue
                waiting += info.lag + max(0, info.reserved - position)
                ages += [] if info.oldest is None else [info.oldest]
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
