"""The queue managers that a reader or a writer works with, and their queues."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

import openmsmq
from openmsmq import Manager, Queue
from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    MessageNotFound,
    QueueNotFound,
    ServiceNotAvailable,
    TokenRefused,
)
from openmsmq.spark.columns import nearest
from openmsmq.spark.options import Options
from openmsmq.types.access import Access
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.queues import QueueInfo, QueueKind
from openmsmq.types.read import Seek

_PAUSE: Final = 0.25
_WILD: Final = frozenset("*?")


def connect(options: Options, address: str, *, patient: bool, wait: float | None = None) -> Manager:
    """A connection to a manager; a patient caller waits until one that restarts is back.

    Once it is there and goes away, calls wait for it for `wait` seconds, or as options say.
    """
    limit = time.monotonic() + options.timeout
    while True:
        try:
            return openmsmq.connect(
                address,
                token=options.secret(),
                tls=options.tls_ca or None,
                timeout=options.timeout,
                reconnect=options.timeout if wait is None else wait,
            )
        except TokenRefused as error:
            raise TokenRefused(f"option token or tokenFile: {error.detail}") from error
        except ServiceNotAvailable as error:
            if not patient or time.monotonic() > limit:
                raise ServiceNotAvailable(f"option manager: {error.detail or address}") from error
        time.sleep(_PAUSE)


def queue_names(manager: Manager, wanted: tuple[str, ...]) -> list[str]:
    """The queues that are meant, by their paths; patterns stand for those there are now."""
    return list(queue_infos(manager, wanted))


def queue_infos(
    manager: Manager, wanted: tuple[str, ...], kinds: Collection[str] = tuple(QueueKind)
) -> dict[str, QueueInfo | None]:
    """The same, with what is known of those that were listed."""
    if not wanted:
        raise InvalidParameter("option queue is missing: give a name, a list or a pattern")
    found: dict[str, QueueInfo | None] = {}
    for name in wanted:
        if is_pattern(name):
            found |= {info.name: info for info in matching(manager, name, kinds)}
        else:
            found.setdefault(name)
    return found


def is_pattern(name: str) -> bool:
    """Whether a name stands for all queues that it fits."""
    return bool(_WILD & set(name))


def matching(manager: Manager, pattern: str, kinds: Collection[str]) -> list[QueueInfo]:
    """The queues of some kinds whose path a pattern fits, whatever the case."""
    path = full(pattern).lower()
    infos = [info for info in manager.queues(everything=True) if info.kind in kinds]
    found = [info for info in infos if fnmatchcase(info.name.lower(), path)]
    if not found:
        names = [info.name for info in infos]
        raise QueueNotFound(f"option queue: {pattern!r} fits no queue{nearest(path, names)}")
    return found


def open_queue(manager: Manager, name: str, access: Access) -> Queue:
    """Open a queue, or say which one was probably meant."""
    try:
        return manager.open_queue(name, access=access)
    except QueueNotFound as error:
        hint = ""
        with suppress(AccessDenied):  # who may only send sees no others
            names = [info.name for info in manager.queues()]
            hint = nearest(full(name), names) if names else "; the manager has none"
        raise QueueNotFound(f"option queue: there is no queue {name!r}{hint}") from error
    except AccessDenied as error:
        raise AccessDenied(f"option token does not allow this for {name!r}") from error


def full(name: str) -> str:
    r"""A name as paths are written: `orders*` is `.\private$\orders*`."""
    if "\\" not in name:
        return rf".\private$\{name}"
    return name if name.startswith(".\\") else rf".\{name}"


def bands(queue: Queue) -> Iterable[tuple[int, int]]:
    """The first and the last lookup identifier of each priority that has messages."""
    after = 0
    while found := queue.peek_many(1, timeout=0, after=after):
        first = found[0].lookup_id
        end = ((first >> ARRIVAL_BITS) + 1) << ARRIVAL_BITS
        try:
            last = queue.peek_by_lookup_id(end, Seek.AHEAD).lookup_id
        except MessageNotFound:  # another reader has taken it meanwhile
            return
        if last >= first:
            yield first, last
        after = end - 1
