"""Every input that fuzzing found worth keeping, and every example frame, through every target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS

FRAMES = sorted((Path(__file__).parents[1] / "vectors" / "mqqb").glob("*.hex"))


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_the_corpus_breaks_no_promise(target: str) -> None:
    inputs = corpus.load(target)
    assert inputs, "the corpus is part of the project"
    for data in inputs:
        TARGETS[target](data)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_example_frames_break_no_promise(target: str) -> None:
    for path in FRAMES:
        TARGETS[target](bytes.fromhex(path.read_text()))
