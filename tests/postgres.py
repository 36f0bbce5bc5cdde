"""The database of the tests: one server for each process that runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.postgres import Postgres, PostgresMissing


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL; where there is none, tests fail rather than prove nothing."""
    try:
        made = Postgres()
    except PostgresMissing as error:
        pytest.fail(str(error))
    yield made
    made.close()
