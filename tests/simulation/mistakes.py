"""Mistakes that are planted on purpose, and which seed finds each."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.world import ALSO, Failed, World, simulate

SEEDS_MAX: Final = 300
"A mistake is found within this number of seeds."
FOUND_BY_FILE: Final = Path(__file__).with_name("found_by.txt")
"Which seed finds each mistake; `FOUND_BY=1 pytest -n 0 -k mistake` writes it again."
FOUND_BY: Final = {
    name: int(seed) for name, seed in map(str.split, FOUND_BY_FILE.read_text().splitlines())
}
Plant = Callable[[pytest.MonkeyPatch], None]


def run(seeds: Iterable[int], also: Collection[str] = ALSO) -> None:
    """One seed after the other, until one fails."""
    for seed in seeds:
        simulate(seed, also=also)


def find(plant: Plant, patch: pytest.MonkeyPatch, world: str) -> None:
    """Plant a mistake that shows in some worlds, and try seeds until one fails.

    The one that found it the last time is tried first.
    """
    likely = FOUND_BY.get(plant.__name__)
    order = sorted(range(SEEDS_MAX), key=lambda seed: seed != likely)
    seeds = (seed for seed in order if not world or getattr(World(seed), world))
    plant(patch)
    with pytest.raises(Failed) as caught:
        run(seeds, {world} & ALSO)
    cause = caught.value.__cause__
    assert not isinstance(cause, AttributeError | NameError | TypeError), "planted in old code"
    found = caught.value.args[1].seed
    if found != likely and "FOUND_BY" in os.environ:
        FOUND_BY[plant.__name__] = found
        text = "".join(f"{name} {seed}\n" for name, seed in sorted(FOUND_BY.items()))
        FOUND_BY_FILE.write_text(text)
