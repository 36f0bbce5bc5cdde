"""Which messages of a queue are held, and by what: the only place of the manager that says so.

A message that is held is in its queue and cannot be read. It is held by the handle it was read
through until it is removed or returned, by a transaction until its outcome, or by the manager
itself while it is sent or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, Final

from openmsmq.engine.queues.entry import Entry

_NONE: Final[Mapping[int, Entry]] = {}
_START: Final = 60
"Bytes of a packet that hold its identifier."


class Holder:
    """What has taken messages and not yet removed or returned them."""

    __slots__ = ()

    keeps_entries: ClassVar[bool] = False
    "It ends messages by and by, and needs to know them as they were read."


REMOVING: Final = Holder()
"Holds messages that are received and leave the store with the next commit."
IN_TRANSIT: Final = Holder()
"Holds messages that were handed to the port."


class Holds:
    """The holders of the messages of one queue, by lookup identifier."""

    __slots__ = ("_holders", "_read", "holder_of", "is_held")

    def __init__(self) -> None:
        self._holders: dict[int, Holder] = {}
        self._read: dict[Holder, dict[int, Entry]] = {}
        "Messages as they were read, of those that are held by what will end them by and by."
        self.holder_of: Callable[[int], Holder | None] = self._holders.get
        "What holds a message; None if it is free. Bound once, since scans ask for every message."
        self.is_held: Callable[[int], bool] = self._holders.__contains__

    def __len__(self) -> int:
        return len(self._holders)

    def __iter__(self) -> Iterator[int]:
        return iter(self._holders)

    def hold(self, lookups: Iterable[int], holder: Holder) -> None:
        """Let something hold messages, whatever held them before."""
        if self._read:
            lookups = list(lookups)
            self._forget(lookups)
        self._holders.update(dict.fromkeys(lookups, holder))

    def hold_read(self, entries: Iterable[Entry], holder: Holder) -> None:
        """Let a reader hold free messages, and keep what it needs to remove them later.

        Of packets the start is enough, which has the identifier for the history.
        """
        new = tuple.__new__
        found = {
            lookup: new(Entry, (lookup, record, packet if express else packet[:_START], express))
            for lookup, record, packet, express in entries
        }
        self._holders.update(dict.fromkeys(found, holder))
        self._read.setdefault(holder, {}).update(found)

    def read_by(self, holder: Holder) -> Mapping[int, Entry]:
        """The messages that a reader holds, as they were read."""
        return self._read.get(holder, _NONE)

    def release(self, lookups: Iterable[int]) -> None:
        """Let go of messages that are held."""
        if self._read:
            lookups = list(lookups)
            self._forget(lookups)
        for lookup in lookups:
            del self._holders[lookup]

    def _forget(self, lookups: list[int]) -> None:
        for lookup in lookups:
            holder = self._holders.get(lookup)
            read = None if holder is None else self._read.get(holder)
            if holder is not None and read is not None:
                read.pop(lookup, None)
                if not read:
                    del self._read[holder]
