"""Public queues of other managers: changed in the directory, and their managers are notified.

([MS-MQCN] 3.3) The directory decides whether the account of this computer may change them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple
from uuid import UUID

from openmsmq.directory.notification import ChangeEvent, Notification, notification_queue
from openmsmq.directory.objects import ManagerObject, QueueObject
from openmsmq.directory.queue_values import changed_values, directory_values
from openmsmq.directory.rights import published_permissions
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.authorization import authorize_manager
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.errors import IllegalPropertyValue, MQError
from openmsmq.names.format import PublicName
from openmsmq.names.path import PathName
from openmsmq.packet.signer import MessageSigner
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.security.access import ManagerRights
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller

Ask = Callable[[Awaitable[Any]], Awaitable[Any]]
"Does something in the directory, and says in the terms of programs why it cannot be done."
_USUAL: Final = {item.name: item.default for item in fields(QueueProperties)}
"What a queue has that was given nothing."
_log: Final = logging.getLogger(__name__)


class Owned(NamedTuple):
    """A public queue, and whose it is."""

    queue: UUID
    manager: UUID


class PublicQueuesElsewhere:
    """Creates, changes and deletes public queues of other managers."""

    def __init__(
        self, local: QueueManager, driver: LoopDriver, directory: DirectoryWriter, ask: Ask
    ) -> None:
        self.signer: MessageSigner | None = None
        "Signs notifications, if this manager has a certificate."
        self.sent = 0
        "Notifications that were sent."
        self._local = local
        self._driver = driver
        self._directory = directory
        self._ask = ask

    async def create(self, path: PathName, caller: Caller, properties: Mapping[str, Any]) -> Owned:
        """Create a public queue of another manager, and tell it ([MS-MQDMPR] 3.1.7.1.18).

        Its manager is notified when it is made, with the identifier of its object (A-40).
        """
        self._permit(caller, "create queue", path)
        values = directory_values(_known(properties))
        manager = await self._ask(self._directory.manager_of(path.computer))
        descriptor = b"" if manager.sid is None else published_permissions(manager.sid, "").encode()
        name = f"{path.computer}\\{path.queue}"
        guid = await self._ask(self._directory.create_queue(name, values, descriptor))
        await self._tell(ChangeEvent.QUEUE_CREATED, guid, manager)
        return Owned(guid, manager.id)

    async def change(self, guid: UUID, caller: Caller, properties: Mapping[str, Any]) -> None:
        """Change a public queue of another manager, and tell it ([MS-MQDMPR] 3.1.7.1.24)."""
        queue = await self._ask(self._directory.by_id(QueueObject, guid))
        self._permit(caller, "change queue", queue.path_name)
        values = changed_values(_known(properties))
        manager = await self._ask(self._directory.by_id(ManagerObject, queue.manager))
        await self._ask(self._directory.write(QueueObject, queue.path, values))
        await self._tell(ChangeEvent.QUEUE_CHANGED, guid, manager)

    async def delete(self, name: PathName | PublicName, caller: Caller) -> UUID:
        """Delete a public queue of another manager, and tell it ([MS-MQDMPR] 3.1.7.1.19)."""
        self._permit(caller, "delete queue", name)
        if isinstance(name, PathName):
            path = f"{name.computer}\\{name.queue}"
            queue = await self._ask(self._directory.queue_by_path(path))
        else:
            queue = await self._ask(self._directory.by_id(QueueObject, name.guid))
        manager = await self._ask(self._directory.by_id(ManagerObject, queue.manager))
        await self._ask(self._directory.delete_queue(guid=queue.id))
        await self._tell(ChangeEvent.QUEUE_DELETED, queue.id, manager)
        guid: UUID = queue.id
        return guid

    def _permit(self, caller: Caller, action: str, name: object) -> None:
        """Refuse those who may not create queues here: the directory sees this computer only."""
        local = self._local

        def permit() -> None:
            authorize_manager(caller, ManagerRights.CREATE_QUEUE, local.settings.permissions)
            local.audit.acted(caller, action, str(name))

        self._driver.call(permit)

    async def _tell(self, event: ChangeEvent, guid: UUID, manager: ManagerObject) -> None:
        """Send Change Notification ([MS-MQCN] 3.3.4.1), to others that are queue managers.

        What cannot be sent is no failure of the change: its manager reads the directory every hour.
        """
        local = self._local
        if manager.foreign or manager.id == local.identity:
            return
        notification = Notification(event, guid, self._directory.tree.server)
        name, mode = str(notification_queue(manager.id)), Mode(Access.SEND)
        try:
            handle = self._driver.call(lambda: local.open_queue(name, mode))
            try:
                message = notification.message(self.signer)
                await self._driver.wait(lambda: handle.send([message]))
            finally:
                self._driver.call(handle.close)
        except MQError as error:
            log_event(_log, "notification not sent", level=logging.WARNING, error=error)
        else:
            self.sent += 1


def _known(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse properties that the directory has no place for: their manager would not see them."""
    for name, value in properties.items():
        is_kept = name in changed_values({name: value})
        if not is_kept and value != _USUAL.get(name):
            raise IllegalPropertyValue(f"{name}: the directory does not keep it")
    return properties
