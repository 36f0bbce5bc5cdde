"""The managers of a stream as its driver sees them: who is there, and which queues they have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from openmsmq import Manager, Queue
from openmsmq.errors import QueueNotFound, ServiceNotAvailable
from openmsmq.spark.offsets import QueueAddress, key
from openmsmq.spark.options import Options
from openmsmq.spark.service import connect, full, is_pattern, open_queue, queue_infos
from openmsmq.types.access import Access
from openmsmq.types.queues import QueueInfo, QueueKind
from openmsmq.types.subscriptions import lasting_id

T = TypeVar("T")
A = TypeVar("A")
AT_ONCE: Final = 32
"Managers that are asked at once."
CALLS_AT_ONCE: Final = 64
"Calls to one manager at once: it commits them together."
LIST_FROM: Final = 16
"Queues from which on it takes less to list all of a manager than to ask for each."
KINDS: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC, QueueKind.SYSTEM, QueueKind.JOURNAL)
"Queues that can be subscribed to."
RETRY_S: Final = 5.0
"Seconds after which a manager that was away is asked again."
WAIT_S: Final = 2.0
"Seconds that a manager may be away before a stream goes on without it, if it may."


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """A queue of a stream, open on the driver."""

    place: QueueAddress
    queue: Queue
    manager: Manager


class Fleet:
    """Connections to the managers of a stream; with `onManagerAway=skip`, to those there are."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._managers: dict[str, Manager] = {}
        self._queues: dict[str, FoundQueue] = {}
        self._away: dict[str, str] = {}
        self._asked: dict[str, float] = {}
        self._coming: dict[str, Future[Manager]] = {}
        self._dialling = ThreadPoolExecutor(AT_ONCE, "openmsmq-dial")
        self._patterns = any(is_pattern(name) for name in options.queues)

    @property
    def queues(self) -> Mapping[str, FoundQueue]:
        """The queues of managers that are there, by what offsets call them."""
        return self._queues

    @property
    def managers(self) -> Mapping[str, Manager]:
        """The managers that are there, by their addresses."""
        return self._managers

    @property
    def away(self) -> Mapping[str, str]:
        """The managers that are away, with the reason."""
        return self._away

    def look(self) -> None:
        """Connect to managers that are not connected, and find queues that were created since.

        A manager that is not there when the stream starts is an error at once, or skipped.
        """
        is_first = not self._managers and not self._away
        for address in self._options.managers:
            is_due = time.monotonic() - self._asked.get(address, -RETRY_S) >= RETRY_S
            if address not in self._managers and address not in self._coming and is_due:
                self._asked[address] = time.monotonic()
                self._coming[address] = self._dialling.submit(self._dial, address)
        new = [
            address
            for address, coming in list(self._coming.items())
            if (is_first or coming.done()) and self._came(address)
        ]
        if is_first and not self._managers:
            raise ServiceNotAvailable(f"option managers: {'; '.join(self._away.values())}")
        for address in self._managers if self._patterns else new:
            self._find(address)

    def _dial(self, address: str) -> Manager:
        return connect(self._options, address, patient=False, wait=self._wait)

    @property
    def _wait(self) -> float:
        """Seconds to wait for a manager that goes away; after that it is skipped, or an error."""
        timeout = self._options.timeout
        return min(WAIT_S, timeout) if self._options.skips_away else timeout

    def _came(self, address: str) -> bool:
        """Whether a manager that was dialled has answered."""
        try:
            self._managers[address] = self._coming.pop(address).result()
        except ServiceNotAvailable as error:
            self.skip(address, error)
            return False
        self._away.pop(address, None)
        return True

    def skip(self, address: str, error: ServiceNotAvailable) -> None:
        """Go on without a manager; raises the error if that is not wanted."""
        if not self._options.skips_away:
            raise error
        self._away[address] = error.detail or address
        manager = self._managers.pop(address, None)
        if manager is not None:
            self._dialling.submit(manager.close)
        self._queues = {
            name: one for name, one in self._queues.items() if one.place.address != address
        }

    def _find(self, address: str) -> None:
        """Open the queues of a manager that are not open yet."""
        manager = self._managers[address]
        known = {
            one.place.queue.lower() for one in self._queues.values() if one.place.address == address
        }
        try:
            infos = self._infos(manager)
            new = [name for name in infos if full(name).lower() not in known]

            def opened(name: str) -> tuple[str, FoundQueue]:
                return _open(manager, address, name, infos[name])

            self._queues |= dict(found for _, found in at_once(new, opened))
        except ServiceNotAvailable as error:
            self.skip(address, error)

    def _infos(self, manager: Manager) -> Mapping[str, QueueInfo | None]:
        try:
            return queue_infos(manager, self._options.queues, KINDS)
        except QueueNotFound:
            if not self._queues:
                raise
            return {}

    def messages(self, names: Iterable[str]) -> dict[str, int]:
        """How many messages queues have now; many queues of a manager are listed at once."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._queues[name].place.address, []).append(name)
        found: dict[str, int] = {}
        for address, group in groups.items():
            if len(group) >= LIST_FROM:
                listed = self._managers[address].queues(everything=True)
                counts = {info.name: info.messages for info in listed}
                paths = {name: self._queues[name].place.queue for name in group}
                found |= {name: counts[path] for name, path in paths.items() if path in counts}
            left = [name for name in group if name not in found]
            found |= dict(at_once(left, lambda name: self._queues[name].queue.info().messages))
        return found

    def forget(self, name: str) -> None:
        """Go on without a queue that was deleted."""
        self._queues = {other: one for other, one in self._queues.items() if other != name}

    def close(self) -> None:
        """Close the connections."""
        self._dialling.shutdown(wait=True, cancel_futures=True)
        for coming in self._coming.values():
            if coming.done() and not coming.cancelled() and coming.exception() is None:
                coming.result().close()
        for manager in self._managers.values():
            manager.close()
        self._managers, self._queues, self._coming = {}, {}, {}


def _open(
    manager: Manager, address: str, name: str, info: QueueInfo | None
) -> tuple[str, FoundQueue]:
    queue = open_queue(manager, name, Access.RECEIVE)
    info = info or queue.info()
    place = QueueAddress(address, queue.name)
    return key(manager.id, lasting_id(info.id, info.kind)), FoundQueue(place, queue, manager)


def at_once(items: Iterable[A], work: Callable[[A], T]) -> list[tuple[A, T]]:
    """What calls to one manager answer, several of which are under way at once."""
    found = list(items)
    if len(found) < 2:
        return [(item, work(item)) for item in found]
    with ThreadPoolExecutor(min(len(found), CALLS_AT_ONCE), "openmsmq-calls") as pool:
        return list(zip(found, pool.map(work, found), strict=True))
