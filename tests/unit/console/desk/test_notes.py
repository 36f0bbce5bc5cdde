"""Notes on groups of dead letters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from openmsmq.console.desk.models import GroupNote, LetterGroup, NewNote
from openmsmq.console.desk.notes import OWN, LetterNotes
from openmsmq.console.limits import NOTES_MAX

AT = datetime(2026, 7, 1, tzinfo=UTC)


def group(queue: str = "q", labels: str = "order #") -> LetterGroup:
    return LetterGroup(queue, "late", 1, "orders", labels, 1, AT, AT, "1", "class:1")


def test_a_note_stays_with_its_group(tmp_path: Path) -> None:
    asked = NewNote("q", "late", "orders", "order #", " Ann looks after it ")
    LetterNotes(AT.timestamp, tmp_path).write("a", asked, "ops")
    notes = LetterNotes(AT.timestamp, tmp_path)
    groups = [group(), group(labels="bill #"), group("other")]
    notes.mark("a", groups)
    assert [one.note for one in groups] == [GroupNote("Ann looks after it", "ops", AT), None, None]
    elsewhere = group()
    notes.mark("b", [elsewhere])
    assert elsewhere.note is None


def test_the_manager_of_the_directory_has_its_notes_under_any_name(tmp_path: Path) -> None:
    """Also those that were written under its name before."""
    before = LetterNotes(AT.timestamp, tmp_path)
    before.write("shop01", NewNote("q", "late", "orders", "order #", "old"), "ops")
    notes = LetterNotes(AT.timestamp, tmp_path, "shop01")
    one, other = group(), group("other")
    notes.mark("shop01", [one])
    assert one.note is not None
    notes.write("shop01", NewNote("q", "late", "orders", "order #", "new"), "ops")
    LetterNotes(AT.timestamp, tmp_path).write(
        OWN, NewNote("other", "late", "orders", "order #", "by hand"), "ops"
    )
    notes.mark("shop01", [one, other])
    texts = [made.note.text for made in (one, other) if made.note is not None]
    assert texts == ["new", "by hand"]
    assert [note.text for note in notes.all()] == ["new", "by hand"]


def test_an_empty_note_removes_it() -> None:
    notes = LetterNotes(AT.timestamp)
    notes.write("a", NewNote("q", "late", "orders", "order #", "text"), "ops")
    notes.write("a", NewNote("q", "late", "orders", "order #", " "), "ops")
    one = group()
    notes.mark("a", [one])
    assert one.note is None


def test_there_is_a_bound_and_the_oldest_goes() -> None:
    now = [0.0]
    notes = LetterNotes(lambda: now[0])
    for number in range(NOTES_MAX + 1):
        now[0] += 1
        notes.write("a", NewNote(f"q{number}", "late", "orders", "order #", "text"), "ops")
    groups = [group(f"q{number}") for number in range(NOTES_MAX + 1)]
    notes.mark("a", groups)
    assert [one.note is None for one in groups] == [True] + [False] * NOTES_MAX
