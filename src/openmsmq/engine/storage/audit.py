"""The audit log: access decisions and administrative acts, in the order in which they were made.

An entry is written with the commit of what it is about, before that is answered. Nothing changes an
entry that is written; when the log takes more than it may, the oldest entries are dropped. Denials
that come too fast are counted, so that no caller can drive out what others did.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from struct import Struct
from typing import Any, Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.operation import Submit
from openmsmq.engine.commit.timeline import Timeline
from openmsmq.engine.storage.limits import AUDIT_TEXT_MAX, DENIALS_AT_ONCE, DENIALS_PER_SECOND
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.history import AuditEntry, FileChange

AUDIT_KEY: Final = b"audit"
FILES_KEY: Final = b"audit files"
NOT_RECORDED: Final = "not recorded"
"The act of an entry that stands for denials which came too fast."
_state = Struct("<QQQ")
_number = Struct(">Q")
_LAST: Final = (1 << 64) - 1
_DROPPED_AT_ONCE: Final = 256


class AuditLog:
    """The entries of a store, and those that wait for the next commit."""

    def __init__(self, snapshot: Snapshot, limit: int, timeline: Timeline, submit: Submit) -> None:
        """`limit` are the bytes that entries may take; 0 to keep none."""
        raw = snapshot.get(Table.META, AUDIT_KEY)
        self.state = (1, 1, 0) if raw is None else read_audit_state(raw)
        "The numbers of the first entry and of the next, and the bytes they take."
        files = snapshot.get(Table.META, FILES_KEY)
        self._files: dict[str, list[Any]] = {} if files is None else json.loads(files)
        "How far files are followed: the number of the last change, and the digest."
        self._files_written = dict(self._files)
        self._files_next = self._files_written
        self.limit = limit
        self._timeline = timeline
        self._submit = submit
        self._pending: list[bytes] = []
        self._written = 0
        "How many of these the commit under way writes."
        self._next = self.state
        "What `state` is when it is on disk."
        self._is_asked = False
        "A commit is asked to write them."
        self._credit = float(DENIALS_AT_ONCE)
        self._credit_at = 0.0
        self._uncounted = 0
        "Denials that were not recorded."
        self.lost = 0
        "Entries that could not be written."

    def acted(self, caller: Caller, act: str, target: str, reason: str = "") -> None:
        """A caller does something that is allowed; what the manager does itself is not kept."""
        if self.limit and caller is not INTERNAL:
            self._add_missing()
            self._add(caller.principal, act, target, reason, caller.name, allowed=True)

    def denied(self, caller: Caller, act: str, target: str, reason: str) -> None:
        """A caller was denied something."""
        self.denied_to(caller.principal, act, target, reason, caller.name)

    def denied_to(self, who: str, act: str, target: str, reason: str, by: str) -> None:
        """The same for a principal in words."""
        if not self.limit:
            return
        now = self._timeline.exact
        self._credit += max(0.0, now - self._credit_at) * DENIALS_PER_SECOND
        self._credit = min(self._credit, DENIALS_AT_ONCE)
        self._credit_at = now
        if self._credit < 1:
            self._uncounted += 1
            return
        self._credit -= 1
        self._add_missing()
        self._add(who, act, target, reason, by, allowed=False)

    def follow(self, file: str, changes: Sequence[FileChange], digest: str, *, edit: str) -> None:
        """Take in what commands changed in a file; `edit` says how else it was changed, if it was.

        The first time that there is such a file it may be older than this log.
        """
        known = self._files.get(file)
        number, before = known or (0, "")
        if not self.limit or (known is None and edit and not changes):
            return
        new = [one for one in changes if one.number > number]
        for one in new:
            texts = (one.who, one.act, one.target, one.reason, one.by)
            self._add(*texts, allowed=True, at=one.time)
        if known is not None and digest != before and (edit or not new):
            words = edit or "it is not as the last command wrote it"
            self._add("", "edit file", file, words, "", allowed=True)
        last = max([number, *(one.number for one in changes)])
        if [last, digest] != known:
            self._files[file] = [last, digest]
            if not self._is_asked:
                self._ask()

    def _add_missing(self) -> None:
        """Say how many denials were not recorded before this."""
        if self._uncounted:
            count, self._uncounted = self._uncounted, 0
            words = f"{count} more denied: too many in a second"
            self._add("", NOT_RECORDED, "", words, "", allowed=False)

    def _add(
        self,
        who: str,
        act: str,
        target: str,
        reason: str,
        by: str,
        *,
        allowed: bool,
        at: int | None = None,
    ) -> None:
        words = (text[:AUDIT_TEXT_MAX] for text in (who, act, target, reason, by))
        time = self._timeline.wall if at is None else at
        row = json.dumps([time, allowed, *words], ensure_ascii=False)
        self._pending.append(row.encode(errors="replace"))
        if not self._is_asked:
            self._ask()

    def _ask(self) -> None:
        self._is_asked = True
        self._submit(self._apply, self._committed, self._failed, grows=True)

    def _apply(self, batch: Batch) -> None:
        self._written = len(self._pending)
        self._files_next = dict(self._files)
        self._next = self._write(batch.writer)

    def _write(self, writer: Writer) -> tuple[int, int, int]:
        first, number, size = self.state
        rows = []
        for row in self._pending:
            rows.append((_number.pack(number), row))
            number += 1
            size += len(row)
        writer.put_many(Table.AUDIT, rows, append=True)
        old = []
        start, end = _number.pack(first), _number.pack(number)
        for key, row in islice(writer.scan(Table.AUDIT, start, end), _DROPPED_AT_ONCE):
            if size <= self.limit:
                break
            old.append(key)
            size -= len(row)
        writer.delete_many(Table.AUDIT, old)
        state = first + len(old), number, size
        writer.put(Table.META, AUDIT_KEY, _state.pack(*state))
        if self._files != self._files_written:
            writer.put(Table.META, FILES_KEY, json.dumps(self._files).encode())
        return state

    def _committed(self) -> None:
        self.state = self._next
        self._files_written = self._files_next
        del self._pending[: self._written]
        self._is_asked = False
        if self._pending or self._files != self._files_written:
            self._ask()

    def _failed(self, error: BaseException) -> None:
        self.lost += len(self._pending)
        self._pending.clear()
        self._files = dict(self._files_written)
        self._is_asked = False

    def written(self) -> Future[None]:
        """Answered when all entries so far are on disk, or lost."""
        answer: Future[None] = Future()
        if not self._is_asked:
            answer.succeed(None)
        else:
            done = partial(answer.succeed, None)
            self._submit(lambda batch: None, done, lambda error: done())
        return answer

    def entries(self, snapshot: Snapshot, after: int = 0) -> Iterator[AuditEntry]:
        """The entries behind one with this number, the oldest first."""
        start, end = _number.pack(min(after + 1, _LAST)), _number.pack(_LAST)
        for key, row in snapshot.scan(Table.AUDIT, start, end):
            yield read_entry(key, row)


def read_audit_state(raw: bytes) -> tuple[int, int, int]:
    """The numbers of the first entry and of the next, and the bytes they take."""
    first, following, size = _state.unpack(raw)
    return first, following, size


def read_entry(key: bytes, row: bytes) -> AuditEntry:
    """An entry as the store keeps it."""
    time, allowed, who, act, target, reason, by = json.loads(row)
    moment = datetime.fromtimestamp(time, UTC)
    (number,) = _number.unpack(key)
    return AuditEntry(number, moment, who, act, target, bool(allowed), reason, by)
