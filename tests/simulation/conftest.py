"""For all simulations."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The managers of many seeds log too much to be read."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
