"""The queue managers that a reader or a writer works with, and their queues."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from typing import Final

import openmsmq
from openmsmq import Manager, Queue
from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    QueueNotFound,
    ServiceNotAvailable,
    TokenRefused,
)
from openmsmq.spark.columns import nearest
from openmsmq.spark.options import Options
from openmsmq.types.access import Access

_PAUSE: Final = 0.25
_WILD: Final = frozenset("*?")


def connect(options: Options, address: str, *, patient: bool) -> Manager:
    """A connection to a manager; who is patient waits until one that restarts is back."""
    limit = time.monotonic() + options.timeout
    while True:
        try:
            return openmsmq.connect(
                address,
                token=options.secret(),
                tls=options.tls_ca or None,
                timeout=options.timeout,
                reconnect=options.timeout,
            )
        except TokenRefused as error:
            raise TokenRefused(f"option token or tokenFile: {error.detail}") from error
        except ServiceNotAvailable as error:
            if not patient or time.monotonic() > limit:
                raise ServiceNotAvailable(f"option manager: {error.detail or address}") from error
        time.sleep(_PAUSE)


def queue_names(manager: Manager, wanted: tuple[str, ...]) -> list[str]:
    """The queues that are meant, by their paths; patterns stand for those there are now."""
    if not wanted:
        raise InvalidParameter("option queue is missing: give a name, a list or a pattern")
    found: list[str] = []
    for name in wanted:
        found += matching(manager, name) if _WILD & set(name) else [name]
    return list(dict.fromkeys(found))


def matching(manager: Manager, pattern: str) -> list[str]:
    """The queues whose path a pattern fits, whatever the case."""
    full = _full(pattern).lower()
    names = [info.name for info in manager.queues(everything=True)]
    found = [name for name in names if fnmatchcase(name.lower(), full)]
    if not found:
        raise QueueNotFound(f"option queue: {pattern!r} fits no queue{nearest(full, names)}")
    return found


def open_queue(manager: Manager, name: str, access: Access) -> Queue:
    """Open a queue, or say which one was probably meant."""
    try:
        return manager.open_queue(name, access=access)
    except QueueNotFound as error:
        names = [info.name for info in manager.queues()]
        hint = nearest(_full(name), names) if names else "; the manager has none"
        raise QueueNotFound(f"option queue: there is no queue {name!r}{hint}") from error
    except AccessDenied as error:
        raise AccessDenied(f"option token does not allow this for {name!r}") from error


def _full(name: str) -> str:
    r"""A name as paths are written: `orders*` is `.\private$\orders*`."""
    if "\\" not in name:
        return rf".\private$\{name}"
    return name if name.startswith(".\\") else rf".\{name}"
