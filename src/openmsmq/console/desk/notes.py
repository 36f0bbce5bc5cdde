"""Notes on groups of dead letters: who looks after them, and what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openmsmq.console.desk.kept import KeptRemarks, Remark
from openmsmq.console.desk.models import GroupNote, LetterGroup, NewNote
from openmsmq.console.limits import NOTES_MAX

NOTES_FILE: Final = "notes.json"
OWN: Final = ""
"The manager of the directory, whatever the console calls it."


class LetterNote(Remark, frozen=True):
    """What someone wrote about a group."""

    manager: str
    queue: str
    reason: str
    destination: str
    labels: str
    text: str
    who: str
    time: float
    "Seconds since 1970 UTC."

    @property
    def key(self) -> str:
        """Which group it is about."""
        return self.key_at(self.manager)

    def key_at(self, manager: str) -> str:
        """The same, if the manager has this name."""
        return "\0".join((manager, self.queue, self.reason, self.destination, self.labels))


class LetterNotes:
    """The notes of a console."""

    def __init__(
        self, clock: Callable[[], float], directory: Path | None = None, own: str = OWN
    ) -> None:
        """`clock` gives seconds since 1970 UTC; the manager `own` is the one of the directory.

        Without a directory they are forgotten when the console ends.
        """
        self._clock = clock
        self._own = own
        path = None if directory is None else directory / NOTES_FILE
        self._kept = KeptRemarks(LetterNote, path)

    def write(self, manager: str, asked: NewNote, who: str) -> None:
        """Keep what someone writes; an empty text removes what is there."""
        made = LetterNote(
            OWN if manager == self._own else manager,
            asked.queue,
            asked.reason,
            asked.destination,
            asked.labels,
            asked.text.strip(),
            who,
            self._clock(),
        )
        with self._kept.changing() as kept:
            kept.pop(made.key, None)
            kept.pop(made.key_at(manager), None)
            if made.text:
                while len(kept) >= NOTES_MAX:
                    del kept[min(kept, key=lambda key: kept[key].time)]
                kept[made.key] = made

    def all(self) -> list[LetterNote]:
        """All of them, the newest first."""
        return sorted(self._kept.read().values(), key=lambda note: -note.time)

    def mark(self, manager: str, groups: Iterable[LetterGroup]) -> None:
        """Put the notes to their groups."""
        kept = self._kept.read()
        names = (OWN, manager) if manager == self._own else (manager,)
        for one in groups:
            parts = (one.queue, one.reason, one.destination, one.labels)
            known = (kept.get("\0".join((name, *parts))) for name in names)
            note = next(filter(None, known), None)
            if note is not None:
                at = datetime.fromtimestamp(note.time, UTC)
                one.note = GroupNote(note.text, note.who, at)
