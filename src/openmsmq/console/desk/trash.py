"""The trash: deleted messages wait in a subqueue of their queue for a day, and can be restored.

A message keeps its id and its place there. When it was deleted is in its history; where that is off
or forgotten, the day begins when the keeper sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.limits import SCAN_BATCH, TRASH_KNOWN_MAX, TRASH_LOOK_S, TRASH_S
from openmsmq.errors import MessageNotFound, MQError
from openmsmq.runtime.logs import log_event
from openmsmq.types.access import Access
from openmsmq.types.queues import VISIBLE, QueueInfo, QueueKind
from openmsmq.types.received import ReceivedMessage

TRASH: Final = "console-trash"
"The subqueue; the name is the console's own, so that no queue of a program is emptied."
_log: Final = logging.getLogger(__name__)


def trash_of(info: QueueInfo) -> str:
    """Where deleted messages of a queue wait; empty if they are gone at once."""
    if is_trash(info):
        return ""
    if info.kind in VISIBLE or info.kind == QueueKind.SUBQUEUE:
        return f"{info.name.partition(';')[0]};{TRASH}"
    return ""


def is_trash(info: QueueInfo) -> bool:
    """Whether a queue is the trash of another one."""
    return info.kind == QueueKind.SUBQUEUE and info.name.endswith(f";{TRASH}")


class TrashKeeper:
    """Removes from the trash what was deleted a day ago."""

    def __init__(self, manager: Manager, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970 UTC."""
        self._manager = manager
        self._clock = clock
        self._deleted: dict[tuple[str, int], float] = {}

    async def run(self) -> None:
        """Look again and again, until it is cancelled."""
        while True:
            with suppress(MQError, OSError):  # the next look may be luckier
                gone = await self.empty()
                if gone:
                    log_event(_log, "trash emptied", messages=gone)
            await asyncio.sleep(TRASH_LOOK_S)

    async def empty(self) -> int:
        """Remove what is old enough; how many that were."""
        gone = 0
        there: set[tuple[str, int]] = set()
        for info in await self._manager.queues(everything=True):
            if is_trash(info) and info.messages:
                async with await self._manager.open_queue(info.name, access=Access.ALL) as queue:
                    gone += await self._empty(queue, there)
        self._deleted = {key: at for key, at in self._deleted.items() if key in there}
        return gone

    async def _empty(self, queue: Queue, there: set[tuple[str, int]]) -> int:
        gone = after = 0
        while batch := await queue.peek_many(SCAN_BATCH, timeout=0, after=after):
            for message in batch:
                after = message.lookup_id
                there.add((queue.name, after))
                if await self._time_of(queue, message) + TRASH_S <= self._clock():
                    with suppress(MessageNotFound):
                        await queue.receive_by_lookup_id(after)
                        gone += 1
        return gone

    async def _time_of(self, queue: Queue, message: ReceivedMessage) -> float:
        """When a message was deleted."""
        key = queue.name, message.lookup_id
        known = self._deleted.get(key)
        if known is not None:
            return known
        events = await self._manager.explain(message.id)
        times = [one.time.timestamp() for one in events if one.event == "moved"]
        found = times[-1] if times else self._clock()
        if len(self._deleted) < TRASH_KNOWN_MAX:
            self._deleted[key] = found
        return found
