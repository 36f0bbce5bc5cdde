"""The backlog of the queues that a pipeline reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from openmsmq import Manager
from openmsmq.errors import MQError
from openmsmq.pipelines.spec import Source
from openmsmq.pipelines.work import Backlog, Progress
from openmsmq.spark.offsets import key
from openmsmq.spark.service import connect
from openmsmq.spark.subscribed import QUEUES_SHOWN


class Waiting:
    """Asks the managers of a source; one that does not answer is not waited for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._managers: dict[str, Manager] = {}

    def look(self, progress: Progress, read: Mapping[str, int]) -> Progress:
        """A batch with what is behind the positions that were read, if managers answer."""
        try:
            queues = sorted(self._look(read), key=lambda one: -one.lag)
        except MQError:
            self.close()
            return progress
        ages = [one.oldest for one in queues if one.oldest is not None]
        return replace(
            progress,
            lag=sum(one.lag for one in queues),
            oldest=max(ages, default=None),
            queues=tuple(queues[:QUEUES_SHOWN]),
        )

    def _look(self, read: Mapping[str, int]) -> Iterator[Backlog]:
        for address in self._source.place.managers:
            manager = self._manager(address)
            for info in manager.subscriptions():
                position = read.get(key(manager.id, info.queue_id))
                if position is None or info.name.lower() != self._source.subscription.lower():
                    continue
                lag = info.lag + max(0, info.reserved - position)
                yield Backlog(address, info.queue, lag, info.oldest, info.bytes)

    def _manager(self, address: str) -> Manager:
        if address not in self._managers:
            options = self._source.place.parsed()
            self._managers[address] = connect(options, address, patient=False)
        return self._managers[address]

    def close(self) -> None:
        """Close the connections to the managers."""
        for manager in self._managers.values():
            manager.close()
        self._managers.clear()
