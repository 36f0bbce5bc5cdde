"""Events in the history of a message as values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime

import pytest

from openmsmq.types.history import HistoryEvent


def test_a_history_event_is_a_frozen_value() -> None:
    found = HistoryEvent(datetime(2026, 1, 1, tzinfo=UTC), "arrived", "q", "arrived in q", 1, "")
    assert found == replace(found)
    with pytest.raises(FrozenInstanceError):
        found.text = "x"  # type: ignore[misc]  # that it is refused is the point
