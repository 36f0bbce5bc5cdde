"""Where the queue of a format name lies."""

from __future__ import annotations

from typing import NamedTuple, Protocol
from uuid import UUID

from openmsmq.errors import IllegalFormatName
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.names.path import PathName


class Location(NamedTuple):
    """The computer of a queue, and its path name if that is known."""

    machine: str
    path: PathName | None


class Places(Protocol):
    """What a queue manager knows, or its directory; None for what neither does."""

    def public_queue(self, queue: UUID) -> PathName | None:
        """The path name of a queue in the directory."""

    def computer(self, manager: UUID) -> str | None:
        """The name of the computer that a queue manager runs on."""

    def private_queue(self, manager: UUID, number: int) -> PathName | None:
        """The path name of a private queue; only this manager's own are known."""


def locate(name: FormatName, places: Places) -> Location:
    """Get Queue Path ([MS-MQDMPR] 3.1.7.1.26); `IllegalFormatName` if it is unknown.

    Names of other kinds than these three are refused too (A-59).
    """
    match name:
        case DirectName():
            return Location(name.address, PathName.from_direct(name))
        case PublicName():
            path = places.public_queue(name.guid)
            if path is not None:
                return Location(path.computer, path)
        case PrivateName():
            machine = places.computer(name.guid)
            if machine is not None:
                return Location(machine, places.private_queue(name.guid, name.number))
    raise IllegalFormatName(f"{name}: where its queue lies is not known")
