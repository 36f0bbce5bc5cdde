"""Messages that have come lately from other managers, so that none is taken twice.

(MessageIDHistoryTable, [MS-MQQB] 3.1.1.3.) A sender that did not hear of the acknowledgement sends
again; which message that is, its source, its identifier and its destination tell (AMB-39). What is
remembered for strangers has bounds of its own, so that no flood makes us forget what a known peer
has sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.arrivals.limits import (
    DROPPED_GROUPS_MAX,
    DUPLICATE_AGE_MAX,
    DUPLICATE_GROUP_MAX,
    KNOWN_DUPLICATES_MAX,
    STRANGER_DUPLICATES_MAX,
)
from openmsmq.engine.storage.tables import Snapshot, Table, Writer

KEY_SIZE: Final = 28
SEEN: Final = b"H"
"What the keys of these rows begin with."

_key = Struct(">cQ")
_start = Struct("<IBB")
_NO_ROW: Final = 0


class Owner(NamedTuple):
    """For whom messages are remembered: a known peer, or the network that strangers come from."""

    name: str
    is_known: bool


class _Group:
    """Messages of one owner that came together."""

    __slots__ = ("is_dropped", "keys", "owner", "row", "time")

    def __init__(self, row: int, time: int, owner: Owner, keys: list[bytes]) -> None:
        self.row = row
        "The number of their row in the store; none for express messages."
        self.time = time
        self.owner = owner
        self.keys = keys
        self.is_dropped = False


def read_seen(key: bytes, raw: bytes) -> _Group:
    """Messages that came together, as a row tells."""
    time, is_known, size = _start.unpack_from(raw)
    start = _start.size + size
    if (len(raw) - start) % KEY_SIZE:
        raise ValueError(f"a row of {len(raw)} bytes")
    owner = Owner(raw[_start.size : start].decode(), bool(is_known))
    keys = [raw[at : at + KEY_SIZE] for at in range(start, len(raw), KEY_SIZE)]
    return _Group(_key.unpack(key)[1], time, owner, keys)


def seen_row(time: int, owner: Owner, keys: Iterable[bytes]) -> bytes:
    """The reverse of `read_seen`."""
    name = owner.name.encode()
    return b"".join((_start.pack(time, owner.is_known, len(name)), name, *keys))


class _Pool:
    """The messages of owners that share a bound: who has the most loses its oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._total = 0
        self._sizes: dict[Owner, int] = {}
        self._groups: dict[Owner, deque[_Group]] = {}

    def add(self, group: _Group) -> None:
        self._groups.setdefault(group.owner, deque()).append(group)
        self.grown(group.owner, len(group.keys))

    def grown(self, owner: Owner, count: int) -> None:
        self._sizes[owner] = self._sizes.get(owner, 0) + count
        self._total += count

    def last(self, owner: Owner) -> _Group | None:
        groups = self._groups.get(owner)
        return groups[-1] if groups else None

    def remove_first(self, owner: Owner) -> _Group:
        """Forget the oldest group of an owner."""
        groups = self._groups[owner]
        group = groups.popleft()
        self.grown(owner, -len(group.keys))
        if not groups:
            del self._groups[owner], self._sizes[owner]
        return group

    def surplus(self) -> Owner | None:
        """Who is to lose something, if there is too much."""
        if self._total <= self._most:
            return None
        return max(self._sizes, key=self._sizes.__getitem__)


class Duplicates:
    """What has come lately; messages that must not be lost are remembered on disk."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._seen: dict[bytes, _Group] = {}
        "The last group that each is in."
        self._by_age: deque[_Group] = deque()
        self._dropped = 0
        "How many of them are forgotten already."
        self._pools = {True: _Pool(KNOWN_DUPLICATES_MAX), False: _Pool(STRANGER_DUPLICATES_MAX)}
        "Of known peers, and of all others."
        self._next_row = _NO_ROW + 1
        self._surplus: list[int] = []
        "Rows of groups that are forgotten, to be deleted with the next commit."
        self._deleted = 0
        "How many of them are deleted by the commit that is being written."
        for key, raw in snapshot.scan(Table.TRANSFER, SEEN, SEEN + b"\xff" * 9):
            group = read_seen(key, raw)
            self._next_row = group.row + 1
            self._add(group)
        self._is_dated = False
        "Whether the ages of what was read are counted yet."
        self._drop_surplus()  # rows that were forgotten may not have been deleted yet

    def __contains__(self, key: bytes) -> bool:
        """Whether a message has come before."""
        return key in self._seen

    def is_aged(self, key: bytes, now: int) -> bool:
        """Whether a message that came before was not written down in this second: now it is to be.

        It is remembered from then on, after a restart, too.
        """
        group = self._seen.get(key)
        return group is not None and (group.row == _NO_ROW or group.time != now)

    def has_any(self, keys: Iterable[bytes]) -> bool:
        """Whether one of several messages has come before."""
        return not self._seen.keys().isdisjoint(keys)

    def __len__(self) -> int:
        return len(self._seen)

    def write(self, writer: Writer, owner: Owner, keys: Sequence[bytes], now: int) -> int:
        """Write down messages that come with a commit; the number to give `committed`."""
        row = self._next_row
        self._next_row += 1
        writer.put(Table.TRANSFER, _key.pack(SEEN, row), seen_row(now, owner, keys))
        writer.delete_many(Table.TRANSFER, [_key.pack(SEEN, old) for old in self._surplus])
        self._deleted = len(self._surplus)
        return row

    def committed(self, row: int, owner: Owner, keys: Sequence[bytes], now: int) -> None:
        """They are written down."""
        del self._surplus[: self._deleted]
        self._deleted = 0
        self._add(_Group(row, now, owner, list(keys)))
        self._trim(now)

    def note(self, owner: Owner, keys: Sequence[bytes], now: int) -> None:
        """Express messages came, for the first time or again."""
        if not keys:
            return
        pool = self._pools[owner.is_known]
        last = pool.last(owner)
        if (
            last is not None
            and last.row == _NO_ROW
            and last.time == now
            and len(last.keys) + len(keys) <= DUPLICATE_GROUP_MAX
        ):
            fresh = [key for key in keys if self._seen.get(key) is not last]
            last.keys.extend(fresh)
            self._seen.update(dict.fromkeys(fresh, last))
            pool.grown(owner, len(fresh))
        else:
            self._add(_Group(_NO_ROW, now, owner, list(keys)))
        self._trim(now)

    def _add(self, group: _Group) -> None:
        self._by_age.append(group)
        self._pools[group.owner.is_known].add(group)
        self._seen.update(dict.fromkeys(group.keys, group))

    def _trim(self, now: int) -> None:
        """Forget what is old, and the oldest of too many ([MS-MQQB] 3.1.6.7).

        What was remembered before a restart ages from the first message after it: a clock that was
        set meanwhile, as no manager can notice, must not let all of it be forgotten at once.
        """
        if not self._is_dated:
            self._is_dated = True
            for group in self._by_age:
                group.time = now
        self._drop_surplus()
        while self._by_age and (
            self._by_age[0].is_dropped or self._by_age[0].time + DUPLICATE_AGE_MAX < now
        ):
            group = self._by_age.popleft()
            if not group.is_dropped:
                self._drop(self._pools[group.owner.is_known].remove_first(group.owner))
            self._dropped -= 1
        if self._dropped > DROPPED_GROUPS_MAX and self._dropped > len(self._by_age) // 2:
            self._by_age = deque(group for group in self._by_age if not group.is_dropped)
            self._dropped = 0

    def _drop_surplus(self) -> None:
        for pool in self._pools.values():
            while (owner := pool.surplus()) is not None:
                self._drop(pool.remove_first(owner))

    def _drop(self, group: _Group) -> None:
        group.is_dropped = True
        self._dropped += 1
        for key in group.keys:
            if self._seen.get(key) is group:
                del self._seen[key]
        if group.row != _NO_ROW:
            self._surplus.append(group.row)
        group.keys = []
