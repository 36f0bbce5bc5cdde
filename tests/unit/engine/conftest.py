"""Settings of the tests of the rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.engine import world


@pytest.fixture(autouse=True, scope="module")
def _commits_begin_twice() -> Iterator[None]:
    """Every commit is begun a first time in vain, so that every operation is written again.

    Tests of other folders, properties and simulation begin their commits once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "begins_twice", True)
        yield
