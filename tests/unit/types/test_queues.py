"""Queues as values."""

from __future__ import annotations

from math import inf
from uuid import UUID

import pytest

from openmsmq.errors import IllegalPropertyValue
from openmsmq.limits import NO_QUOTA
from openmsmq.types.queues import queue_properties


def test_properties_that_are_not_given_are_left_out() -> None:
    assert queue_properties(label=None, quota=5) == {"quota": 5}
    assert queue_properties(quota=inf, journal_quota=inf) == {
        "quota": NO_QUOTA,
        "journal_quota": NO_QUOTA,
    }
    assert queue_properties(type=str(UUID(int=5))) == {"type": UUID(int=5)}
    with pytest.raises(IllegalPropertyValue, match="a GUID is needed"):
        queue_properties(type="nonsense")
