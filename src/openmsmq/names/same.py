"""Whether two names mean the same queue, seen from the computer they are used on."""

from __future__ import annotations

from collections.abc import Iterable

from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import fold, host_key, join_queue
from openmsmq.names.path import THIS_COMPUTER, PathName


def queue_key(name: PathName | FormatName, *, own_names: Iterable[str]) -> str:
    """Equal for all names of one queue that are known to be so without asking the directory.

    `own_names` are the names and addresses of this computer, in any letter case; an HTTP server on
    an unusual port is `host:port`. Names of other computers stay apart when they are reached
    differently, by name or by address: only the network knows whether they are one.
    """
    if isinstance(name, PathName):
        name = name.to_direct()
    if isinstance(name, DirectName) and is_own(name, own_names=own_names):
        return f"{THIS_COMPUTER}\\{fold(join_queue(name.queue_parts))}"
    return name.key


def same_queue(
    a: PathName | FormatName, b: PathName | FormatName, *, own_names: Iterable[str]
) -> bool:
    """True if both names mean the same queue; see `queue_key`."""
    own = tuple(own_names)
    return queue_key(a, own_names=own) == queue_key(b, own_names=own)


def is_own(name: DirectName, *, own_names: Iterable[str]) -> bool:
    """True if the queue is on this computer, which goes by `.` and `own_names`."""
    host = name.host_key
    return host == THIS_COMPUTER or any(host == host_key(own) for own in own_names)
