"""Associations: the connections of one client, and the context handles they share.

A handle belongs to the association it was made in, whichever of its connections and interfaces
it was made on; what kind of thing it stands for decides where it may be used. When the last
connection is gone, what the handles stand for is run down ([MS-RPCE] 3.3.1.4.1, 3.3.3.7.1).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol, TypeVar
from uuid import UUID

from openmsmq.rpc.limits import CONNECTIONS_MAX, HANDLES_MAX
from openmsmq.rpc.status import RpcFault, RpcStatus

RandomBytes = Callable[[int], bytes]
"Makes that many unpredictable bytes."


def unused_number(random_bytes: RandomBytes, taken: Container[int]) -> int:
    """A random number of 32 bits that is not in use; 0 never is one."""
    while True:
        number = int.from_bytes(random_bytes(4), "little")
        if number and number not in taken:
            return number


class HandleContext(Protocol):
    """What a context handle stands for."""

    def run_down(self) -> None:
        """Undo what the client left behind; it is gone."""
        ...


ContextT = TypeVar("ContextT", bound=HandleContext)


class Association:
    """The connections of one client, and its context handles."""

    def __init__(self, group: int, address: str, random_bytes: RandomBytes) -> None:
        self.group = group
        "The number by which further connections join."
        self.address = address
        self.connections = 0
        self._handles: dict[UUID, HandleContext] = {}
        self._random_bytes = random_bytes

    @property
    def handle_count(self) -> int:
        """How many handles are open."""
        return len(self._handles)

    def add(self, context: HandleContext) -> UUID:
        """A new random handle ([MS-RPCE] 2.2.1.1.4); `RpcFault` if there are too many."""
        if len(self._handles) >= HANDLES_MAX:
            raise RpcFault(RpcStatus.SERVER_TOO_BUSY)
        handle = UUID(bytes=self._random_bytes(16), version=4)
        self._handles[handle] = context
        return handle

    def find(self, handle: UUID, kind: type[ContextT]) -> ContextT:
        """What a handle stands for, if it is of a kind; else a `RpcFault` ([MS-RPCE] 3.3.1.4.1)."""
        context = self._handles.get(handle)
        if not isinstance(context, kind):
            raise RpcFault(RpcStatus.CONTEXT_MISMATCH)
        return context

    def has(self, handle: UUID, kind: type[HandleContext]) -> bool:
        """Whether there is such a handle, of this kind."""
        return isinstance(self._handles.get(handle), kind)

    def remove(self, handle: UUID) -> None:
        """Forget a handle whose context was closed."""
        del self._handles[handle]

    def run_down(self) -> None:
        """Run all handles down, the newest first ([MS-RPCE] 3.3.3.7.1)."""
        while self._handles:
            self._handles.popitem()[1].run_down()


class Associations:
    """The associations of a server, by group."""

    def __init__(self, random_bytes: RandomBytes) -> None:
        self._random_bytes = random_bytes
        self._groups: dict[int, Association] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def join(self, group: int, address: str) -> Association | None:
        """The association of a new connection, a new one for group 0.

        `None` for a group that is not there, is another computer's, or has too many connections
        ([MS-RPCE] 3.3.1.5.7).
        """
        if not group:
            association = Association(self._new_group(), address, self._random_bytes)
            self._groups[association.group] = association
        else:
            found = self._groups.get(group)
            if found is None or found.address != address or found.connections >= CONNECTIONS_MAX:
                return None
            association = found
        association.connections += 1
        return association

    def leave(self, association: Association) -> None:
        """A connection is over; with the last one the handles are run down."""
        association.connections -= 1
        if not association.connections:
            del self._groups[association.group]
            association.run_down()

    def _new_group(self) -> int:
        while True:
            group = int.from_bytes(self._random_bytes(4), "little")
            if group and group not in self._groups:
                return group
