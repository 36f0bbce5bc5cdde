"""What the API asks of the keeper of the queues: this process itself, or a service elsewhere."""

from __future__ import annotations

from openmsmq.types.access import Access, Mode


class Handle:
    """An open queue, as a backend knows it."""

    __slots__ = ("mode", "name")

    def __init__(self, name: str, mode: Mode) -> None:
        self.name = name
        r"Its path name, `.\private$\orders`, or the format name it sends to."
        self.mode = mode

    def require(self, access: Access) -> None:
        """Refuse what the handle was not opened for."""
        self.mode.require(access, self.name)


class CursorHandle:
    """A cursor, as a backend knows it."""

    __slots__ = ()


class Work:
    """A transaction, as a backend knows it."""

    __slots__ = ()
