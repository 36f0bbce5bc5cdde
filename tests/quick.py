"""What `make check` leaves to `make test`: further seeds, and most random examples."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

QUICK = "quick"
"The Hypothesis profile of `make check`."
EXAMPLES = 15


def first_quick(seeds: Iterable[int]) -> list[ParameterSet]:
    """Seeds of which the first is tried in `make check`, and all others in `make test`."""
    extra = pytest.mark.extra
    return [pytest.param(seed, marks=extra if n else ()) for n, seed in enumerate(seeds)]


def examples(count: int) -> settings:
    """A number of random examples, and a few of them in `make check`."""
    is_quick = os.environ.get("HYPOTHESIS_PROFILE") == QUICK
    return settings(max_examples=min(count, EXAMPLES) if is_quick else count)
