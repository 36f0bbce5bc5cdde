"""Names that the directory has to be asked for, and what it said of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from openmsmq.directory.elsewhere import Owned
from openmsmq.directory.limits import (
    AWAITED_TIME_MAX,
    CACHE_MAX,
    QUESTIONS_MAX,
    SENDER_QUESTIONS_MAX,
)
from openmsmq.directory.objects import QueueObject
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome, as_error, not_found
from openmsmq.directory.reader import DirectoryReader
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.directory_view import is_published
from openmsmq.errors import MQError, NoDs
from openmsmq.names.base import FormatName
from openmsmq.names.format import (
    DistributionListName,
    MultipleName,
    PublicName,
    parse_format_name,
)
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName, parse_path_name
from openmsmq.runtime.drivers import LoopDriver

KNOWN_FOR: Final = 1200.0
"Seconds for which an answer about a queue or a list counts."
UNKNOWN_FOR: Final = 60.0
"The same for the answer that there is none."
Name = FormatName | PathName


@dataclass(slots=True)
class _Answer:
    """What the directory said of a name, and until when that counts."""

    name: Name
    until: float
    error: MQError | None = None


class Lookups:
    """Public queues and lists elsewhere, as far as the directory was asked for them."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        directory: DirectoryReader,
        now: Callable[[], float],
        lost: Callable[[str], None],
    ) -> None:
        """`lost` is called if no controller answers."""
        self._local = local
        self._driver = driver
        self._directory = directory
        self._now = now
        self._lost = lost
        self._answers: dict[str, _Answer] = {}

    def forget_failures(self) -> None:
        """The directory is back: what was not found may be there now."""
        self._answers = {key: one for key, one in self._answers.items() if one.error is None}

    def needs_lookup(self, name: str) -> bool:
        """Whether the directory has to be asked before a queue of this name is opened."""
        return any(not self._is_known(one) for one in self._names(name))

    def _names(self, name: str) -> list[Name]:
        """Those parts of a name that the directory has to be asked for."""
        try:
            parsed = parse_name(name)
        except MQError:
            return []
        each = parsed.elements if isinstance(parsed, MultipleName) else (parsed,)
        resolver = self._local.resolver
        return [one for one in each if _is_kept(one) and resolver.local(one) is None]

    def _is_known(self, name: Name) -> bool:
        found = self._answers.get(name.key)
        return found is not None and self._now() < found.until

    async def look_up_all(self, name: str) -> None:
        """Ask for all that a name needs."""
        for one in self._names(name):
            if self._is_known(one):
                continue
            if isinstance(one, PathName):  # who only reads does so without the directory
                with contextlib.suppress(MQError):
                    await self.look_up(one)
            else:
                await self.look_up(one)

    async def look_up(self, name: Name) -> None:
        """Ask the directory for the owner of a queue or the members of a list.

        ([MS-MQDMPR] 3.1.7.1.20, [MS-MQSO] 5.1.1.1) While it is offline what is known stays, and no
        network is touched.
        """
        view = self._local.directory
        known = self._answers.get(name.key)
        if self._local.directory.is_offline:
            if known is None or known.error is not None:
                raise NoDs(f"{name}: no domain controller answers")
            return
        try:
            if isinstance(name, PublicName):
                queue = await self._directory.by_id(QueueObject, name.guid)
                if queue.manager == UUID(int=0):
                    raise not_found(f"{name}: its manager is gone")
                view.owners[name.guid] = queue.manager
                self._prefer(name, queue.base_priority)
                with contextlib.suppress(MQError):  # some names of objects are none of queues
                    view.names[name.guid] = parse_path_name(queue.path_name)
            elif isinstance(name, PathName):
                queue = await self._directory.queue_by_path(f"{name.computer}\\{name.queue}")
                self.found(name, Owned(queue.id, queue.manager))
                self._prefer(PublicName(queue.id), queue.base_priority)
            elif isinstance(name, DistributionListName):
                members = await self._directory.format_names(name.guid)
                elements = tuple(map(parse_format_name, members))
                view.lists[name.guid] = elements
                for element in elements:
                    if isinstance(element, PublicName) and not self._is_known(element):
                        await self.look_up(element)
        except DirectoryFailed as error:
            self._failed(name, error)
        self._remember(_Answer(name, self._now() + KNOWN_FOR))

    def _prefer(self, name: PublicName, base_priority: int) -> None:
        """Send to a public queue elsewhere by its base priority ([MS-MQDMPR] 3.1.7.1.5).

        One that no queue can have counts for nothing.
        """
        local = self._local
        base_priority = base_priority if -32768 <= base_priority <= 32767 else 0
        local.directory.priorities.pop(name.guid, None)
        if base_priority:
            local.directory.priorities[name.guid] = base_priority
        queue = local.queues.find_outgoing(name)
        if queue is not None:
            self._driver.call(lambda: local.queues.prefer(queue, base_priority))

    def found(self, path: PathName, owned: Owned) -> None:
        """Know a public queue elsewhere by its path name and its identifier."""
        view = self._local.directory
        view.paths[path.key] = owned.queue
        view.owners[owned.queue] = owned.manager
        view.names[owned.queue] = path
        self._remember(_Answer(path, self._now() + KNOWN_FOR))
        self._remember(_Answer(PublicName(owned.queue), self._now() + KNOWN_FOR))

    def _failed(self, name: Name, error: DirectoryFailed) -> None:
        """What a failed lookup means; a lost connection is noticed ([MS-MQDMPR] 3.1.7.1.20)."""
        if error.outcome is DirectoryOutcome.NOT_CONNECTED:
            self._lost(str(error))
        else:
            self.forget(name)
            self._remember(_Answer(name, self._now() + UNKNOWN_FOR, as_error(error)))
        raise as_error(error)

    def _remember(self, answer: _Answer) -> None:
        """Keep an answer; without one nothing is known of a name."""
        self._answers.pop(answer.name.key, None)
        self._answers[answer.name.key] = answer
        if len(self._answers) > CACHE_MAX:
            names = (known.name for known in self._answers.values())
            oldest = next((name for name in names if not self._is_sent_to(name)), None)
            if oldest is not None:
                self.forget(oldest)

    def _is_sent_to(self, name: Name) -> bool:
        """Whether there is an outgoing queue for it, which needs to know its owner."""
        return isinstance(name, PublicName) and self._local.queues.has_outgoing(name)

    def forget(self, name: Name) -> None:
        """Know nothing of a name any longer."""
        view = self._local.directory
        self._answers.pop(name.key, None)
        if isinstance(name, PathName):
            view.paths.pop(name.key, None)
        elif isinstance(name, PublicName):
            view.owners.pop(name.guid, None)
            view.names.pop(name.guid, None)
            view.priorities.pop(name.guid, None)
        elif isinstance(name, DistributionListName):
            view.lists.pop(name.guid, None)

    def is_public(self, name: str) -> bool:
        """Whether a name is one of a public queue, of this manager or another of the domain."""
        try:
            local = self._local.resolver.local(parse_name(name))
        except MQError:
            return False
        if local is None:
            return self.there(name) is not None
        return "\\" not in local and ";" not in local

    def there(self, name: str) -> PathName | PublicName | None:
        """The public queue of another manager that a name means."""
        found = self._names(name)
        is_one = len(found) == 1 and isinstance(found[0], PathName | PublicName)
        return found[0] if is_one else None  # type: ignore[return-value]


def _is_kept(name: Name) -> bool:
    """Whether it is the directory that knows what a name means."""
    if isinstance(name, PathName):
        return is_published(name)
    return isinstance(name, PublicName | DistributionListName)


@dataclass(slots=True)
class _Question:
    since: int
    is_answered: bool = False


class QueueQuestions:
    """What the directory was asked about queues of this manager ([MS-MQCN] <3>).

    Anyone can send messages to queues that there are none of, so that each sender, and all
    together, can have the directory asked so often only; beyond that they are refused (DS-25).
    """

    def __init__(self, ask: Callable[[UUID], None]) -> None:
        """`ask` begins to look a queue up, which may make it; the answer comes with `answered`."""
        self._ask = ask
        self._questions: dict[UUID, _Question] = {}
        "The oldest first; each counts for a time, whatever came of it."
        self._asked_for: dict[str, list[int]] = {}
        "When the directory was asked last for messages of each sender."

    def is_awaited(self, guid: UUID, sender: str, now: int) -> bool:
        """Whether a message of a sender has to come again, since its queue is being looked up.

        One question about a queue in a minute, however many messages come for it.
        """
        self._forget(now)
        known = self._questions.get(guid)
        if known is None:
            if not self._may_ask(sender, now):
                return False
            known = self._questions[guid] = _Question(now)
            self._ask(guid)
        return not known.is_answered

    def answered(self, guid: UUID) -> None:
        """The directory has said whether there is such a queue of this manager."""
        if guid in self._questions:
            self._questions[guid].is_answered = True

    def again(self) -> None:
        """The directory answers again: ask for those that it did not answer."""
        for guid, question in self._questions.items():
            if not question.is_answered:
                self._ask(guid)

    def _may_ask(self, sender: str, now: int) -> bool:
        asked = self._asked_for.get(sender, [])
        if len(asked) >= SENDER_QUESTIONS_MAX or len(self._questions) >= QUESTIONS_MAX:
            return False
        self._asked_for[sender] = [*asked, now]
        return True

    def _forget(self, now: int) -> None:
        """Drop what was asked more than a minute ago."""
        oldest = now - AWAITED_TIME_MAX
        for guid, question in list(self._questions.items()):
            if question.since <= oldest:
                del self._questions[guid]
        for sender, asked in list(self._asked_for.items()):
            recent = [time for time in asked if time > oldest]
            if recent:
                self._asked_for[sender] = recent
            else:
                del self._asked_for[sender]
