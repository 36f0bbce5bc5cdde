"""Messages that have come lately from other managers, so that none is taken twice.

(MessageIDHistoryTable, [MS-MQQB] 3.1.1.3.) A sender that did not hear of the acknowledgement sends
again; which message that is, its source, its identifier and its destination tell (AMB-39).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.model.storage import Snapshot, Table, Writer

KEY_SIZE: Final = 28
COUNT_MAX: Final = 100_000
"How many are remembered; MSMQ remembers 10,000, but lets less be under way."
AGE_MAX: Final = 30 * 60
"For how many seconds ([MS-MQQB] 3.1.2.8)."
GROUP_MAX: Final = 1000
"Express messages that are forgotten together, at most."
SEEN: Final = b"H"
"What the keys of these rows begin with."

_key = Struct(">cQ")
_time = Struct("<I")
_NO_ROW: Final = 0


class _Group(NamedTuple):
    """Messages that came together."""

    row: int
    "The number of their row in the store; none for express messages."
    time: int
    keys: Sequence[bytes]


def read_seen(key: bytes, raw: bytes) -> _Group:
    """Messages that came together, as a row tells."""
    if len(raw) % KEY_SIZE != _time.size:
        raise ValueError(f"a row of {len(raw)} bytes")
    keys = [raw[at : at + KEY_SIZE] for at in range(_time.size, len(raw), KEY_SIZE)]
    return _Group(_key.unpack(key)[1], _time.unpack_from(raw)[0], keys)


class Duplicates:
    """What has come lately; messages that must not be lost are remembered on disk."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._seen: dict[bytes, int] = {}
        "The last group that each is in."
        self._groups: deque[_Group] = deque()
        self._first = 0
        "The number of the oldest group."
        self._next_row = _NO_ROW + 1
        self._size = 0
        "How many keys all groups have together."
        self._surplus: list[int] = []
        "Rows of groups that are forgotten, to be deleted with the next commit."
        self._deleted = 0
        "How many of them are deleted by the commit that is being written."
        for key, raw in snapshot.scan(Table.TRANSFER, SEEN, SEEN + b"\xff" * 9):
            group = read_seen(key, raw)
            self._next_row = group.row + 1
            self._add(group)

    def __contains__(self, key: bytes) -> bool:
        """Whether a message has come before."""
        return key in self._seen

    def __len__(self) -> int:
        return len(self._seen)

    def write(self, writer: Writer, keys: Sequence[bytes], now: int) -> int:
        """Write down messages that come with a commit; the number to give `committed`."""
        row = self._next_row
        self._next_row += 1
        writer.put(Table.TRANSFER, _key.pack(SEEN, row), _time.pack(now) + b"".join(keys))
        writer.delete_many(Table.TRANSFER, [_key.pack(SEEN, old) for old in self._surplus])
        self._deleted = len(self._surplus)
        return row

    def committed(self, row: int, keys: Sequence[bytes], now: int) -> None:
        """They are written down."""
        del self._surplus[: self._deleted]
        self._deleted = 0
        self._add(_Group(row, now, keys))
        self._trim(now)

    def note(self, keys: Sequence[bytes], now: int) -> None:
        """Express messages came, or some that had come before came again."""
        if not keys:
            return
        last = self._groups[-1] if self._groups else None
        if (
            last is not None
            and last.row == _NO_ROW
            and last.time == now
            and len(last.keys) + len(keys) <= GROUP_MAX
        ):
            assert isinstance(last.keys, list)
            number = self._first + len(self._groups) - 1
            fresh = [key for key in keys if self._seen.get(key) != number]
            last.keys.extend(fresh)
            self._seen.update(dict.fromkeys(fresh, number))
            self._size += len(fresh)
        else:
            self._add(_Group(_NO_ROW, now, list(keys)))
        self._trim(now)

    def _add(self, group: _Group) -> None:
        number = self._first + len(self._groups)
        self._groups.append(group)
        self._size += len(group.keys)
        self._seen.update(dict.fromkeys(group.keys, number))

    def _trim(self, now: int) -> None:
        """Forget what is old, and the oldest of too many ([MS-MQQB] 3.1.6.7)."""
        while self._groups and (self._size > COUNT_MAX or self._groups[0].time + AGE_MAX < now):
            group = self._groups.popleft()
            for key in group.keys:
                if self._seen.get(key) == self._first:
                    del self._seen[key]
            self._first += 1
            self._size -= len(group.keys)
            if group.row != _NO_ROW:
                self._surplus.append(group.row)
