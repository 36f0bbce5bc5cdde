"""What the kind of a name says about opening it, before any queue is looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from openmsmq.errors import (
    IllegalFormatName,
    QueueNotFound,
    UnsupportedAccessMode,
    UnsupportedFormatNameOperation,
)
from openmsmq.limits import MULTIPLE_ELEMENTS_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName
from openmsmq.names.format import DistributionListName, MulticastName, MultipleName


def expand_name(
    name: FormatName, members: Callable[[DistributionListName], Iterable[FormatName]]
) -> FormatName:
    """Expand Format Name ([MS-MQDMPR] 3.1.7.3.8): lists give way to their members, none twice.

    `members` asks the directory for those of one list; what it raises ends the expansion. A list
    that is met again adds nothing, so lists may contain each other (A-58).
    """
    if not isinstance(name, DistributionListName | MultipleName):
        return name
    waiting = list(name.elements if isinstance(name, MultipleName) else (name,))
    met: dict[str, FormatName] = {}
    for element in waiting:
        if element.key in met:
            continue
        if len(met) == MULTIPLE_ELEMENTS_MAX:
            raise IllegalFormatName(f"{name}: more than {MULTIPLE_ELEMENTS_MAX} names are in it")
        met[element.key] = element
        if isinstance(element, DistributionListName):
            waiting.extend(members(element))
    found = [met[key] for key in sorted(met) if not isinstance(met[key], DistributionListName)]
    if not found:
        raise QueueNotFound(f"{name}: the list has no queues")
    return found[0] if len(found) == 1 else MultipleName(tuple(found))


def check_use(name: FormatName, *, sends: bool, exclusive: bool = False) -> None:
    """Refuse what no queue of this kind can be opened for ([MS-MQDMPR] 3.1.7.1.5, steps 2 to 5).

    `exclusive` asks that no other handle may receive. Journals are refused to senders
    however they are named (A-63).
    """
    if sends:
        if name.is_read_only:
            raise UnsupportedFormatNameOperation(f"{name}: only the queue manager writes to it")
        if exclusive and isinstance(name, MultipleName):
            raise UnsupportedAccessMode(f"{name}: several queues cannot be denied to others")
    elif isinstance(name, MultipleName | MulticastName) or _is_url(name):
        raise UnsupportedFormatNameOperation(f"{name}: such a name is for sending only")


def _is_url(name: FormatName) -> bool:
    return isinstance(name, DirectName) and name.protocol in DEFAULT_PORTS
