"""Which names mean queues of this manager."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from openmsmq.errors import QueueNotFound
from openmsmq.model.core import Core
from openmsmq.model.queue import Kind
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import MachineName, PrivateName, PublicName
from openmsmq.names.parts import QueueParts, Suffix, fold, host_key, join_queue, split_queue
from openmsmq.names.path import PathName

LOOPBACK: Final = ("127.0.0.1", "::1")


class Naming:
    """Tells the names of queues here from those of others (A-26)."""

    def __init__(
        self, core: Core, own_names: Iterable[str], addresses: Iterable[str] = LOOPBACK
    ) -> None:
        """`addresses` are those by which this computer is reached, others may share its host."""
        self._core = core
        self._own = {host_key(name) for name in (".", "localhost", *own_names, *addresses)}
        core.queues.resolve = self.local

    def local(self, name: PathName | FormatName) -> str | None:
        r"""What follows the computer in the name of a queue here, `private$\orders`.

        None if the queue is on another computer; `QueueNotFound` if the name can only mean one
        here and there is none.
        """
        match name:
            case PathName():
                return join_queue(name.queue_parts) if self._is_here(name.computer) else None
            case DirectName():
                return join_queue(name.queue_parts) if self._is_here(name.address) else None
            case PrivateName() if name.guid == self._core.identity:
                return self._numbered(name)
            case PublicName():
                return self._public(name)
            case MachineName() if name.guid == self._core.identity:
                return join_queue(QueueParts("", False, "", name.suffix))
        return None

    def _is_here(self, host: str) -> bool:
        return host_key(host) in self._own

    def _numbered(self, name: PrivateName) -> str:
        queue = self._core.queues.get(name.number)
        if queue is None or queue.kind is not Kind.PRIVATE:
            raise QueueNotFound(str(name))
        return _with_suffix(queue.name, name.suffix)

    def _public(self, name: PublicName) -> str | None:
        for queue in self._core.queues:
            if queue.kind is Kind.PUBLIC and queue.properties.id == name.guid:
                return _with_suffix(queue.name, name.suffix)
        return None


def _with_suffix(local: str, suffix: Suffix) -> str:
    return join_queue(split_queue(local)._replace(suffix=suffix))


def is_private(local: str) -> bool:
    """Whether a path below the computer is one of a private queue."""
    return fold(local).startswith("PRIVATE$\\")


def shown(local: str) -> str:
    r"""The path name that people write: `.\private$\orders\Journal$`."""
    return str(PathName(".", *split_queue(local)))
