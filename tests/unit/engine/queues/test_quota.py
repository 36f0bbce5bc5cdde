"""The one rule of quotas."""

from __future__ import annotations

import pytest

from openmsmq.engine.queues.quota import within_quota
from openmsmq.limits import NO_QUOTA


@pytest.mark.parametrize(
    ("quota", "used", "added", "fits"),
    [
        (1, 0, 1024, True),
        (1, 1000, 24, True),
        (1, 1000, 25, False),
        (1, 2000, 0, False),
        (0, 0, 0, True),
        (0, 0, 1, False),
    ],
)
def test_a_quota_counts_kibibytes(quota: int, used: int, added: int, fits: bool) -> None:
    assert within_quota(quota, used, added) is fits


@pytest.mark.parametrize("quota", [None, NO_QUOTA])
def test_without_a_quota_everything_fits(quota: int | None) -> None:
    """DMPR-009"""
    assert within_quota(quota, 1 << 50, 1 << 50)
