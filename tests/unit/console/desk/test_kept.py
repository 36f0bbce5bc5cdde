"""What people tell the console."""

from __future__ import annotations

from pathlib import Path

from openmsmq.console.desk.kept import KeptRemarks, Remark


class Word(Remark, frozen=True):
    """A word about a thing."""

    thing: str
    number: int

    @property
    def key(self) -> str:
        """The thing."""
        return self.thing


def test_a_file_says_the_same_to_every_process(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    one, other = KeptRemarks(Word, path), KeptRemarks(Word, path)
    with one.changing() as kept:
        kept["a"] = Word("a", 1)
    assert other.read() == {"a": Word("a", 1)}
    with other.changing() as kept:
        kept["b"] = Word("b", 2)
    assert list(one.read()) == ["a", "b"]
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_makes_no_sense_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    for text in ("nonsense", '{"format": 2, "words": [{"thing": 1, "number": 2}]}', "[]"):
        path.write_text(text)
        assert KeptRemarks(Word, path).read() == {}


def test_without_a_file_they_are_kept_in_memory() -> None:
    words = KeptRemarks(Word)
    with words.changing() as kept:
        kept["a"] = Word("a", 1)
    assert words.read() == {"a": Word("a", 1)}
    assert KeptRemarks(Word).read() == {}
