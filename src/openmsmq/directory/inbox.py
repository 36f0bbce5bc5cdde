"""Notifications of changes that came from others, and what is done about them ([MS-MQCN] 3.2).

Anyone can send one, so that none is taken at its word: the directory is asked, at its own
controllers, and a queue is deleted only after it has said twice that its object is gone (DS-27).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from openmsmq.directory.limits import NOTIFICATIONS_MAX
from openmsmq.directory.notification import (
    OLD_VERSION,
    QUEUE_NUMBER,
    ChangeEvent,
    Notification,
    read_notification,
)
from openmsmq.directory.objects import QueueObject
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.packet.view import PacketView
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import INTERNAL

LOOK_EVERY: Final = 60.0
"Seconds after which it is looked whether notifications wait ([MS-MQCN] <3>)."
BATCH_EVERY: Final = 900.0
"Seconds between batches of them, while they keep coming."
QUIET_AFTER: Final = 840.0
"Seconds after a batch from which the next one is processed at once."
ASK_AGAIN: Final = (60.0, 300.0)
"Seconds after which an object that is not there is asked for again: it may not be replicated yet."
_log: Final = logging.getLogger(__name__)


class OwnQueues(Protocol):
    """What is done with queues of this manager (`DirectoryService`)."""

    @property
    def directory(self) -> DirectoryWriter:
        """The directory."""
        ...

    def with_id(self, guid: UUID) -> ManagedQueue | None:
        """The public queue with an identifier."""
        ...

    async def take_over(self, item: QueueObject) -> None:
        """Make the queue of an object, or give it the object's properties."""
        ...

    async def refresh(self) -> None:
        """Read everything again."""
        ...


class _Open(NamedTuple):
    """A notification about an object that was not there when it was asked for."""

    notification: Notification
    attempts: int
    due: float


class NotificationInbox:
    """Takes notifications from their queue, in batches."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        queues: OwnQueues,
        now: Callable[[], float],
    ) -> None:
        self.ignored = 0
        "Those that were malformed, of another version, or about objects that are not ours."
        self._local = local
        self._driver = driver
        self._queues = queues
        self._now = now
        self._last = -BATCH_EVERY
        self._open: list[_Open] = []
        local.directory.takes_notifications = True

    async def look(self) -> None:
        """Process what is due ([MS-MQCN] 3.2.5.1, 3.2.5.2, note 3); comes every minute."""
        now = self._now()
        due = [item for item in self._open if item.due <= now]
        self._open = [item for item in self._open if item.due > now]
        for item in due:
            await self._act(item.notification, item.attempts)
        queue = self._local.queues.get(QUEUE_NUMBER)
        assert queue is not None, "every manager has one"
        waiting = queue.messages + len(queue.express)
        since = now - self._last
        if not waiting or since < QUIET_AFTER:
            return
        self._last = now
        if waiting >= NOTIFICATIONS_MAX:
            log_event(_log, "too many notifications", level=logging.WARNING, count=waiting)
            await self._driver.wait(lambda: self._local.queue_lifecycle.purge(queue))
            await self._queues.refresh()
            return
        for body in await self._take(queue, waiting):
            notification = read_notification(body)
            if notification is None:
                self.ignored += 1
                version = body[:1].hex()
                old = body[:1] == bytes((OLD_VERSION,))
                log_event(_log, "notification ignored", version=version, is_old=old)
                continue
            await self._act(notification)

    async def _take(self, queue: ManagedQueue, count: int) -> list[bytes]:
        """Receive messages of the queue that programs do not get to see."""
        mode = Mode(Access.RECEIVE)
        handle = self._driver.call(lambda: QueueHandle(self._local.parts, queue, mode, INTERNAL))
        found = await self._driver.wait(lambda: handle.receive(count, wait=False))
        return [PacketView(entry.packet).body for entry in found]

    async def _act(self, notification: Notification, attempts: int = 0) -> None:
        """Do what a notification asks for, as far as the directory says the same.

        ([MS-MQCN] 3.2.5.2) The controller that it names is not connected to.
        """
        try:
            await self._apply(notification)
        except DirectoryFailed as error:
            if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
                await self._missing(notification, attempts)
            elif error.outcome is DirectoryOutcome.NOT_CONNECTED:
                self._later(notification, attempts)

    async def _apply(self, notification: Notification) -> None:
        guid, identity = notification.object, self._local.identity
        if notification.event is ChangeEvent.MACHINE_CHANGED:
            if guid == identity:
                await self._queues.refresh()
            else:
                self.ignored += 1
            return
        if notification.event is ChangeEvent.QUEUE_DELETED and self._queues.with_id(guid) is None:
            return
        item = await self._queues.directory.by_id(QueueObject, guid, security=True)
        if notification.event is ChangeEvent.QUEUE_DELETED or item.manager != identity:
            self.ignored += 1  # it is there, or of another manager
            log_event(_log, "notification ignored", about=str(guid), change=notification.event.name)
            return
        await self._queues.take_over(item)

    async def _missing(self, notification: Notification, attempts: int) -> None:
        """The directory says that there is no such object."""
        is_gone = notification.event is ChangeEvent.QUEUE_DELETED
        if not is_gone or not attempts:
            self._later(notification, attempts)
            return
        queue = self._queues.with_id(notification.object)
        if queue is not None:
            log_event(_log, "queue deleted elsewhere", queue=queue.name)
            await self._driver.wait(lambda: self._local.queue_lifecycle.delete(queue))

    def _later(self, notification: Notification, attempts: int) -> None:
        if attempts < len(ASK_AGAIN) and len(self._open) < NOTIFICATIONS_MAX:
            due = self._now() + ASK_AGAIN[attempts]
            self._open.append(_Open(notification, attempts + 1, due))
