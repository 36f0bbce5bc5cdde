"""The directory of a service: who this manager is in it, and what it says of others.

A controller that does not answer stops nothing: direct names keep flowing, what needs the directory
fails with 0xC00E0013, and the controller is tried again every minute ([MS-MQDMPR] 3.1.2.5).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import Any, Final
from uuid import UUID

from openmsmq.directory.credentials import SenderReader
from openmsmq.directory.elsewhere import PublicQueuesElsewhere
from openmsmq.directory.inbox import LOOK_EVERY, NotificationInbox
from openmsmq.directory.join import find_own, follow_site, machine_changes
from openmsmq.directory.ldap.tree import ConnectionFailed, Tree
from openmsmq.directory.limits import PROBLEMS_MAX
from openmsmq.directory.lookups import Lookups, QueueQuestions
from openmsmq.directory.objects import ManagerObject, QueueObject
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome, as_error, from_ldap
from openmsmq.directory.queue_values import changed_values, directory_values, local_values
from openmsmq.directory.rights import local_permissions, published_permissions, with_kept
from openmsmq.directory.topology import read_topology
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.authorization import authorize_permissions, authorize_queue
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.ownership import OPEN_TO_ALL, owned_by, with_owner
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import DsError, IllegalQueuePathName, Malformed, MQError, NoDs, QueueNotFound
from openmsmq.names.base import FormatName
from openmsmq.names.format import (
    PublicName,
    parse_format_name,
)
from openmsmq.names.path import PathName
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.queues import QueueKind

ONLINE_TRY: Final = 60.0
"Seconds after which a controller that is away is tried again ([MS-MQDMPR] 3.1.2.5)."
REFRESH: Final = 3600.0
"Seconds after which everything is read again: sites and gates, own queues (DS-24)."
_log: Final = logging.getLogger(__name__)


class DirectoryService:
    """Keeps what a manager knows of its directory current."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        tree: Tree,
        *,
        site: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`site` is the one that this computer is in, if it is known."""
        self.site = site
        self.directory = DirectoryWriter(tree)
        self.last_error = ""
        self.own: ManagerObject | None = None
        "This manager's object, as it was read last."
        self.broken: list[str] = []
        "Objects of the topology and of own queues that cannot be used."
        self.unpublished: list[str] = []
        "Public queues here that the directory does not have."
        self.keys: Callable[[], bytes] = bytes
        "The public keys of this manager, for others to encrypt with; empty for none."
        self._local = local
        self._driver = driver
        self._now = now
        self.names = Lookups(local, driver, self.directory, now, self._lost)
        self._task: asyncio.Task[None] | None = None
        self._pending: set[asyncio.Task[Any]] = set()
        local.directory.is_used = True
        self.inbox = NotificationInbox(local, driver, self, now)
        self._questions = QueueQuestions(lambda guid: self._spawn(self._find_own_queue(guid)))
        local.directory.awaited = self._questions
        self.elsewhere = PublicQueuesElsewhere(local, driver, self.directory, self._ask)
        senders = SenderReader(self.directory, self._ask, self._spawn, lambda: local.timeline.wall)
        local.examiner.directory = senders.cache
        self._watching: asyncio.Task[None] | None = None

    @property
    def is_offline(self) -> bool:
        """No controller answers, or it does not know this manager (DirectoryOffline)."""
        return self._local.directory.is_offline

    # Life

    async def start(self) -> str:
        """Begin to read the directory; a controller that is down does not hinder the start.

        ([MS-MQSO] 5.5.4; A-41)
        """
        self._task = asyncio.create_task(self._run())
        self._watching = asyncio.create_task(self._watch())
        return self.directory.tree.server or "directory"

    async def stop(self, reason: str) -> None:
        """Log off."""
        for task in (self._task, self._watching, *self._pending):
            if task is not None:
                task.cancel()
        await self.directory.tree.close()

    async def _watch(self) -> None:
        """Look at notifications of others every minute ([MS-MQCN] 3.2.3)."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.inbox.look()
            except MQError as error:
                log_event(_log, "notifications", level=logging.WARNING, error=error)

    async def _run(self) -> None:
        """Read everything at the start and every hour."""
        while True:
            await self.refresh()
            await asyncio.sleep(ONLINE_TRY if self.is_offline else REFRESH)

    async def refresh(self) -> None:
        """Check Directory Online ([MS-MQDMPR] 3.1.7.1.25): read the own object, then all else."""
        was_offline = self.is_offline
        try:
            await self._refresh()
        except DirectoryFailed as error:
            self._went_offline(str(error))
        except MQError as error:
            self._went_offline(f"{error}")
        else:
            if was_offline:
                log_event(_log, "directory online", controller=self.directory.tree.server)
            self.last_error = ""
            gone = (f"the public queue {name} is not in the directory" for name in self.unpublished)
            self._local.directory.problems = tuple(islice(chain(self.broken, gone), PROBLEMS_MAX))
            self.names.forget_failures()
            self._questions.again()

    def _went_offline(self, reason: str) -> None:
        if not self.is_offline or reason != self.last_error:
            log_event(_log, "directory offline", level=logging.WARNING, reason=reason)
        self._local.directory.is_offline = True
        self._local.directory.problems = (
            f"no domain controller answers, what was read last is in use: {reason}",
        )
        self.last_error = reason

    async def _refresh(self) -> None:
        local = self._local
        local.directory.servers = await self._controllers()
        own = self.own = await find_own(self.directory, local.name, local.identity)
        await self._publish(own)
        broken: list[str] = []
        await self._follow(own, broken)
        await self._read_own_queues(own, broken)
        published: dict[UUID, bytes] = {}
        topology = await read_topology(self.directory, broken, published)
        self.broken = broken
        self._driver.call(lambda: local.route_by(topology))
        local.encryptor.published = published
        local.directory.is_offline = False  # from now on names are looked up
        for queue in self._outgoing():
            with contextlib.suppress(MQError):
                await self.names.look_up(queue)
        self._driver.call(local.dispatcher.offer_all)

    async def _controllers(self) -> tuple[str, ...]:
        """DirectoryServerList, which DNS is asked for every day ([MS-MQSO] 6.4.1.2)."""
        try:
            return await self.directory.tree.controllers()
        except ConnectionFailed as error:
            raise from_ldap(error, "controllers") from error

    async def _publish(self, own: ManagerObject) -> None:
        """Publish keys of this manager that are new ([MS-MQDMPR] 3.1.3); the old ones still do."""
        keys = self.keys()
        if keys and keys != own.encryption_keys:
            try:
                await self.directory.write(ManagerObject, own.path, {"encryption_keys": keys})
            except DirectoryFailed as error:
                if error.outcome is DirectoryOutcome.NOT_CONNECTED:
                    raise
                log_event(_log, "keys not published", level=logging.WARNING, error=error)

    async def _follow(self, own: ManagerObject, broken: list[str]) -> None:
        """Be what the own object says, and say there where this computer is."""
        local = self._local
        if self.site and (reason := await follow_site(self.directory, own, self.site)):
            broken.append(reason)
        local.directory.machine = own.sid
        if own.host and own.host != local.directory.host:
            local.directory.host = own.host
            self._driver.call(lambda: local.resolver.add_name(own.host))
        changes, reason = machine_changes(own, local.settings)
        if reason:
            broken.append(reason)
        if changes:
            await self._driver.wait(lambda: local.configure(INTERNAL, **changes))

    def _outgoing(self) -> list[FormatName]:
        """Public queues and lists that messages wait for."""
        found = []
        for queue in self._local.queues.by_number.values():
            if queue.kind is QueueKind.OUTGOING and queue.name.startswith("PUBLIC="):
                found.append(parse_format_name(queue.name))
        return found

    # Own queues

    async def _read_own_queues(self, own: ManagerObject, broken: list[str]) -> None:
        """Every own object has a queue; queues without one are kept and reported.

        ([MS-MQDMPR] 3.1.3, 3.1.7.1.25; DS-24) A half-written object changes nothing here.
        """
        found = await self.directory.queues_of(own.path, security=True, broken=broken)
        objects = {item.id: item for item in found}
        for item in objects.values():
            await self.take_over(item)
        public = [queue for queue in self._local.queues if queue.kind is QueueKind.PUBLIC]
        gone = [queue.name for queue in public if queue.properties.id not in objects]
        for name in set(gone) - set(self.unpublished):
            log_event(_log, "queue not in the directory", level=logging.WARNING, queue=name)
        self.unpublished = gone

    async def take_over(self, item: QueueObject) -> None:
        """Make the queue of an object, or give it the object's properties ([MS-MQCN] 3.2.5.2).

        The directory is not written.
        """
        local = self._local
        queue = self.with_id(item.id)
        values = local_values(item)
        if item.security:
            before = "" if queue is None else queue.properties.permissions
            machine = None if self.own is None else self.own.sid
            try:
                values["permissions"] = local_permissions(item.security, machine, before)
            except (Malformed, MQError) as error:  # those that are here stay
                log_event(_log, "permissions not read", level=logging.WARNING, reason=str(error))
        if queue is None:
            name = f"{local.name}\\{item.name}"
            await self._driver.wait(
                lambda: local.create_queue(
                    name, INTERNAL, identifier=item.id, transactional=item.transactional, **values
                )
            )
            return
        changes = {
            name: value
            for name, value in values.items()
            if getattr(queue.properties, name) != value
        }
        if changes:
            now = int(local.timeline.wall)
            await self._driver.wait(lambda: local.queue_lifecycle.change(queue, now, changes))

    async def _find_own_queue(self, guid: UUID) -> None:
        """Make a queue that was made elsewhere, if the directory has it ([MS-MQCN] <3>; DS-25).

        While no controller answers the question stays open.
        """
        if self.is_offline:
            return
        try:
            item = await self._ask(self.directory.by_id(QueueObject, guid, security=True))
            if item.manager == self._local.identity:
                await self.take_over(item)
        except NoDs:
            return
        except MQError as error:
            log_event(_log, "queue not made", queue=str(guid), reason=str(error))
        self._questions.answered(guid)

    def with_id(self, guid: UUID) -> ManagedQueue | None:
        """The public queue with an identifier."""
        for queue in self._local.queues:
            if queue.kind is QueueKind.PUBLIC and queue.properties.id == guid:
                return queue
        return None

    # Names

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def needs_lookup(self, name: str) -> bool:
        """Whether the directory has to be asked before a queue of this name is opened."""
        return self.names.needs_lookup(name)

    def look_up(self, name: str) -> Future[None]:
        """Ask for all that a name needs; the answer comes later, or its error."""
        return self._later(self.names.look_up_all(name))

    def is_public(self, name: str) -> bool:
        """Whether a name is one of a public queue, of this manager or another of the domain."""
        return self._driver.call(lambda: self.names.is_public(name))

    def _lost(self, reason: str) -> None:
        """No controller answers: try again in a minute, not at the next refresh."""
        self._went_offline(reason)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
            self._task = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        await asyncio.sleep(ONLINE_TRY)
        await self._run()

    # Public queues

    def create_queue(
        self, name: str, caller: Caller, properties: Mapping[str, Any]
    ) -> Future[None]:
        """Create a public queue: first in the directory, which gives it its identifier.

        ([MS-MQDMPR] 3.1.7.1.3) A failure there leaves nothing here. The manager of a queue
        elsewhere is notified.
        """
        return self._later(self._create_queue(name, caller, dict(properties)))

    async def _create_queue(self, name: str, caller: Caller, properties: dict[str, Any]) -> None:
        local = self._local
        own = self._registered()
        if (there := self.names.there(name)) is not None:
            if not isinstance(there, PathName):
                raise IllegalQueuePathName(f"{name}: a path name is needed, computer\\queue")
            self.names.found(there, await self.elsewhere.create(there, caller, properties))
            return
        path = self._driver.call(lambda: local.check_creation(name, caller))
        values = directory_values(properties)
        assert own.sid is not None
        given, kind = properties.get("permissions", ""), local.settings.new_queues
        owned = owned_by(caller, given, kind, local.directory.domain)
        descriptor = published_permissions(own.sid, owned).encode()
        guid = await self._ask(
            self.directory.create_queue(f"{own.computer}\\{path}", values, descriptor)
        )
        await self._driver.wait(
            lambda: local.create_queue(name, caller, identifier=guid, **properties)
        )

    def delete_queue(self, name: str, caller: Caller) -> Future[None]:
        """Delete a public queue: first in the directory ([MS-MQDMPR] 3.1.7.1.4).

        A failure there leaves the queue (A-29); an object that is gone already is no failure.
        """
        return self._later(self._delete_queue(name, caller))

    async def _delete_queue(self, name: str, caller: Caller) -> None:
        local = self._local
        self._registered()
        if (there := self.names.there(name)) is not None:
            self.names.forget(PublicName(await self.elsewhere.delete(there, caller)))
            self.names.forget(there)
            return
        queue = self._driver.call(lambda: local.check_deletion(name, caller))
        with contextlib.suppress(QueueNotFound):
            await self._ask(self.directory.delete_queue(guid=queue.properties.id))
        await self._driver.wait(lambda: local.delete_queue(name, caller))

    def change_queue(
        self, queue: ManagedQueue, caller: Caller, properties: Mapping[str, Any]
    ) -> Future[None]:
        """Give a public queue other properties: first in the directory ([MS-MQDMPR] 3.1.7.1.24).

        What is changed here alone would be what it was before when the directory is read again.
        """
        return self._later(self._change_queue(queue, caller, dict(properties)))

    async def _change_queue(
        self, queue: ManagedQueue, caller: Caller, properties: dict[str, Any]
    ) -> None:
        local = self._local
        self._registered()
        if isinstance(there := self.names.there(queue.name), PublicName):
            await self.elsewhere.change(there.guid, caller, properties)
            return
        self._driver.call(lambda: authorize_queue(caller, QueueRights.SET_QUEUE_PROPERTIES, queue))
        queue.properties.changed(0, **properties)  # values that cannot be are refused before
        values = changed_values(properties)
        if values:
            item = await self._ask(self.directory.by_id(QueueObject, queue.properties.id))
            await self._ask(self.directory.write(QueueObject, item.path, values))
        await self._driver.wait(lambda: local.change_queue(queue, caller, **properties))

    def set_permissions(self, queue: ManagedQueue, sddl: str, caller: Caller) -> Future[None]:
        """Give a public queue of this manager other permissions: first in the directory.

        ([MS-MQDSSM] 3.1.6.7.2.3) Entries there that are about other things stay.
        """
        return self._later(self._set_permissions(queue, sddl, caller))

    async def _set_permissions(self, queue: ManagedQueue, sddl: str, caller: Caller) -> None:
        local, own = self._local, self._registered()
        after = with_owner(sddl, queue.properties.permissions or OPEN_TO_ALL)
        self._driver.call(lambda: authorize_permissions(caller, queue, after))
        guid = queue.properties.id
        item = await self._ask(self.directory.by_id(QueueObject, guid, security=True))
        assert own.sid is not None
        descriptor = published_permissions(own.sid, after)
        with contextlib.suppress(Malformed):  # then nothing of it is kept
            descriptor = with_kept(descriptor, SecurityDescriptor.decode(item.security))
        await self._ask(self.directory.write_security(item.path, descriptor.encode()))
        await self._driver.wait(lambda: local.set_permissions(queue, sddl, caller))

    def _registered(self) -> ManagerObject:
        """The own object; without a controller nothing public changes."""
        if self.own is None or self.is_offline:
            raise NoDs(f"no domain controller answers: {self.last_error or 'not asked yet'}")
        return self.own

    async def _ask(self, operation: Any) -> Any:
        """Do something in the directory ([MS-MQDMPR] 3.1.7.1.18, 3.1.7.1.19, 3.1.7.1.24).

        What cannot be done says why in the terms of programs, and a lost connection is noticed.
        """
        try:
            return await operation
        except DirectoryFailed as error:
            if error.outcome is DirectoryOutcome.NOT_CONNECTED:
                self._lost(str(error))
            raise as_error(error) from error

    def _later(self, work: Any) -> Future[Any]:
        """The answer of something that takes its time."""
        pending: Future[Any] = Future()

        async def run() -> None:
            try:
                found = await work
            except MQError as error:
                failure = error
                self._driver.call(lambda: pending.fail(failure))
            except Exception as error:
                broken = DsError(f"{type(error).__name__}: {error}")
                self._driver.call(lambda: pending.fail(broken))
                raise
            else:
                self._driver.call(lambda: pending.succeed(found))

        self._spawn(run())
        return pending
