"""Fuzzing without coverage: inputs repeat with their seed, and what breaks a promise is kept."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import mutations
from tests.fuzz.mutations import Mutations

CORPUS = [b"one two three", b"\x00\x01\x02\x03", b"x"]


def test_a_seed_gives_the_same_inputs_again() -> None:
    first, again, other = Mutations(CORPUS, 1), Mutations(CORPUS, 1), Mutations(CORPUS, 2)
    drawn = [first.draw() for _ in range(200)]
    assert drawn == [again.draw() for _ in range(200)]
    assert drawn != [other.draw() for _ in range(200)]
    assert len(set(drawn)) > 150, "they differ"


def test_an_input_that_breaks_a_promise_is_kept(tmp_path: Path) -> None:
    said: list[str] = []

    def target(data: bytes) -> None:
        assert not data.startswith(b"one two th") or len(data) < 14

    crash = tmp_path / "crash"
    assert not mutations.run(target, CORPUS, 10_000, 1, crash, said.append)
    assert crash.read_bytes().startswith(b"one two th")
    assert "of seed 1, now in" in said[-1]


def test_all_inputs_are_counted(tmp_path: Path) -> None:
    said: list[str] = []
    seen: list[bytes] = []
    assert mutations.run(seen.append, CORPUS, 25, 1, tmp_path / "crash", said.append)
    assert len(seen) == 25
    assert said[-1].startswith("25 of 25 inputs of seed 1")
    assert not (tmp_path / "crash").exists()
