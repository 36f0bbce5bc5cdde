"""What a manager knows of the directory of its enterprise; in a workgroup there is none.

The service that asks the directory puts its answers here: rules do not wait for a network.
"""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from openmsmq.engine.queues.resolver import is_address
from openmsmq.errors import NoDs, QueueNotFound, UnsupportedFormatNameOperation
from openmsmq.names.base import FormatName
from openmsmq.names.format import DistributionListName, PublicName
from openmsmq.names.parts import Suffix
from openmsmq.names.path import PathName
from openmsmq.security.defaults import OwnDomain
from openmsmq.security.sid import Sid


class AwaitedQueues(Protocol):
    """Has the directory asked for queues that are not here (`QueueQuestions`)."""

    def is_awaited(self, guid: UUID, sender: str, now: int) -> bool:
        """Whether a message of a sender has to come again, since its queue is being looked up."""
        ...


class DirectoryView:
    """Owners of public queues and members of lists, as far as they are known."""

    def __init__(self) -> None:
        self.is_used = False
        "The manager is one of an enterprise (DirectoryIntegrated, [MS-MQDMPR] 3.1.1.1)."
        self.is_offline = True
        "No domain controller answers (DirectoryOffline, [MS-MQDMPR] 3.1.1.1)."
        self.takes_notifications = False
        "Messages to the notification queue are accepted ([MS-MQCN] 3.2.3)."
        self.owners: dict[UUID, UUID] = {}
        "The managers of public queues elsewhere."
        self.lists: dict[UUID, tuple[FormatName, ...]] = {}
        self.paths: dict[str, UUID] = {}
        "Public queues elsewhere by the keys of their path names."
        self.names: dict[UUID, PathName] = {}
        "The path names of public queues elsewhere."
        self.priorities: dict[UUID, int] = {}
        "The base priorities of public queues elsewhere, but for those that have none."
        self.machine: Sid | None = None
        "The identifier of this computer in its domain."
        self.host = ""
        "The name of this computer in DNS, as the directory has it; empty if it has none."
        self.awaited: AwaitedQueues | None = None
        "Public queues here that it is asked for before a message to them is refused."
        self.problems: tuple[str, ...] = ()
        "What an administrator should know: objects that cannot be used, controllers that are away."
        self.servers: tuple[str, ...] = ()
        "Names of domain controllers (DirectoryServerList, [MS-MQDMPR] 3.1.1.1)."

    @property
    def domain(self) -> OwnDomain | None:
        """The domain that the manager belongs to; None in a workgroup."""
        return OwnDomain(self.machine) if self.is_used else None

    def format_name(self, path: PathName) -> FormatName:
        r"""The format name for the path name of a queue elsewhere.

        A public queue is found in the directory ([MS-MQDSSM] 3.1.6.4.2.2); private queues, and all
        in a workgroup, by the name of their computer.
        """
        if not self.is_used or not is_published(path):
            return path.to_direct()
        found = self.paths.get(path.key)
        if found is not None:
            return PublicName(found)
        self._check(path)
        raise QueueNotFound(
            f"{path}: no public queue of the directory; DIRECT=OS:{path} does without it"
        )

    def owner(self, name: PublicName) -> UUID:
        """The manager of a public queue elsewhere ([MS-MQDMPR] 3.1.7.1.20).

        Without a controller it is not known whether there is one: 0xC00E0013, so that a sender
        tries again (DS-23).
        """
        found = self.owners.get(name.guid)
        if found is not None:
            return found
        self._check(name)
        raise QueueNotFound(f"{name}: no public queue of the directory")

    def base_priority(self, name: PublicName) -> int:
        """The base priority of a public queue elsewhere ([MS-MQDMPR] 3.1.7.1.5)."""
        return self.priorities.get(name.guid, 0)

    def path(self, name: PublicName) -> PathName:
        """Where a public queue elsewhere is ([MS-MQDMPR] 3.1.7.1.26)."""
        found = self.names.get(name.guid)
        if found is not None:
            return found
        self._check(name)
        raise QueueNotFound(f"{name}: no public queue of the directory")

    def members(self, name: DistributionListName) -> tuple[FormatName, ...]:
        """The members of a distribution list ([MS-MQDMPR] 3.1.7.3.8)."""
        found = self.lists.get(name.guid)
        if found is not None:
            return found
        self._check(name)
        raise QueueNotFound(f"{name}: no distribution list of the directory")

    def _check(self, name: FormatName | PathName) -> None:
        if not self.is_used:
            raise UnsupportedFormatNameOperation(
                f"{name}: there is no directory to ask; a service with --directory has one"
            )
        if self.is_offline:
            raise NoDs(f"{name}: no domain controller answers")


def is_published(path: PathName) -> bool:
    """Whether a path name is one of a public queue ([MS-MQMQ] 2.1.1), of a computer with a name."""
    is_plain = not path.private and not path.subqueue and path.suffix is Suffix.NONE
    return is_plain and bool(path.queue) and not is_address(path.computer)
