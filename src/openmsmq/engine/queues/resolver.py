"""Which names mean queues of this manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address
from typing import Final, Protocol
from uuid import UUID

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import QueueNotFound
from openmsmq.names import direct
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import MachineName, PrivateName, PublicName
from openmsmq.names.parts import QueueParts, Suffix, fold, host_key, join_queue, split_queue
from openmsmq.names.path import PathName
from openmsmq.types.queues import QueueKind

LOOPBACK: Final = ("127.0.0.1", "::1")


class QueueTable(Protocol):
    """The queues of a manager, as far as names are resolved with them."""

    def get(self, number: int) -> ManagedQueue | None:
        """The queue with this number."""
        ...

    def __iter__(self) -> Iterator[ManagedQueue]:
        """The private and public queues."""
        ...


class Resolver:
    """Tells the names of queues here from those of others (A-26)."""

    def __init__(
        self, identity: UUID, queues: QueueTable, inherited_names: Callable[[], Iterable[str]]
    ) -> None:
        """`inherited_names` are those of computers whose messages this manager has taken over."""
        self._identity = identity
        self._queues = queues
        self._inherited_names = inherited_names
        self.http_port: int | None = None
        "Where messages over HTTP come in: a URL with another port is for another manager."
        self.http_place: tuple[str, int] | None = None
        "Host and port under which others reach that port, where a proxy or a gateway is between."
        self.configure(())

    def configure(
        self,
        own_names: Iterable[str],
        addresses: Iterable[str] = LOOPBACK,
        *,
        host_names: Iterable[str] = (),
        takes_all: bool = False,
    ) -> None:
        """Set the names of this computer.

        `addresses` are those by which it is reached, others may share its host. Messages that come
        for one of `host_names` are taken, too; for any name, if it `takes_all`.
        """
        self._own = {host_key(name) for name in (".", "localhost", *own_names, *addresses)}
        self._called = self._own | {host_key(name) for name in host_names}
        self._takes_all = takes_all

    def add_name(self, name: str) -> None:
        """Know another name of this computer, as the directory has it ([MS-MQDMPR] 3.1.3)."""
        self._own.add(host_key(name))
        self._called.add(host_key(name))

    def local(self, name: PathName | FormatName) -> str | None:
        r"""What follows the computer in the name of a queue here, `private$\orders`.

        None if the queue is on another computer; `QueueNotFound` if the name can only mean one
        here and there is none.
        """
        match name:
            case PathName():
                return join_queue(name.queue_parts) if self._is_here(name.computer) else None
            case DirectName():
                is_own = self._is_here(name.address) and self._is_http_port(name)
                is_here = is_own or self._is_http_place(name)
                return join_queue(name.queue_parts) if is_here else None
            case PrivateName() if name.guid == self._identity:
                return self._numbered(name)
            case PublicName():
                return self._public(name)
            case MachineName() if name.guid == self._identity:
                return join_queue(QueueParts("", False, "", name.suffix))
        return None

    def misdirected(self, name: DirectName) -> str:
        """Why a message that came from elsewhere is not for this computer; empty if it is.

        Only names of computers are looked at (AMB-70): an address may have been translated on the
        way, which also goes for one that stands where a name should.
        """
        is_name = name.protocol is direct.Protocol.OS
        if not is_name or self._takes_all or self.is_called(name.address):
            return ""
        return (
            f"it is for the computer {name.address}, which is no name of this one; if it should be,"
            f" start with --alias {name.address}"
        )

    def is_called(self, host: str) -> bool:
        """Whether a name means this computer, with or without its domain, or did before."""
        if is_address(host):
            return True
        key = host_key(host)
        if key in self._called or any(_is_same(key, own) for own in self._called):
            return True
        return key in map(host_key, self._inherited_names())

    def _is_here(self, host: str) -> bool:
        return host_key(host) in self._own

    def _is_http_port(self, name: DirectName) -> bool:
        """Whether a URL names the port of this manager; other names have none."""
        usual = direct.DEFAULT_PORTS.get(name.protocol)
        if usual is None or self.http_port is None:
            return True
        return (name.port or usual) == self.http_port

    def _is_http_place(self, name: DirectName) -> bool:
        """Whether a URL is the one under which others reach this manager."""
        usual = direct.DEFAULT_PORTS.get(name.protocol)
        if usual is None or self.http_place is None:
            return False
        return (host_key(name.address), name.port or usual) == self.http_place

    def _numbered(self, name: PrivateName) -> str:
        """The private queue with a number ([MS-MQDMPR] 3.1.7.1.5)."""
        queue = self._queues.get(name.number)
        if queue is None or queue.kind is not QueueKind.PRIVATE:
            raise QueueNotFound(str(name))
        return _with_suffix(queue.name, name.suffix)

    def _public(self, name: PublicName) -> str | None:
        """The queue that is published under an identifier: no private one ([MS-MQDMPR] 3.1.1.2)."""
        for queue in self._queues:
            if queue.kind is QueueKind.PUBLIC and queue.properties.id == name.guid:
                return _with_suffix(queue.name, name.suffix)
        return None


def _is_same(host: str, own: str) -> bool:
    """Whether two names are one computer's, of which one has no domain."""
    if "." in host and "." in own:
        return False
    return host.partition(".")[0] == own.partition(".")[0] != "" and not is_address(own)


def is_address(host: str) -> bool:
    """Whether an IP address stands where the name of a computer could."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _with_suffix(local: str, suffix: Suffix) -> str:
    return join_queue(split_queue(local)._replace(suffix=suffix))


def is_private(local: str) -> bool:
    """Whether a path below the computer is one of a private queue."""
    return fold(local).startswith("PRIVATE$\\")
