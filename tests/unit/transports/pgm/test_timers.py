"""The rate of a source."""

from __future__ import annotations

import pytest

from openmsmq.transports.pgm.timers import TokenBucket


def test_a_packet_larger_than_the_bucket_is_sent() -> None:
    """PGM-066: and paid for afterwards."""
    bucket = TokenBucket(1000, 40, 0.0)
    assert bucket.is_ready(0.0)
    bucket.take(1500)
    assert not bucket.is_ready(1.4)
    assert bucket.ready_at == pytest.approx(1.46)
    assert bucket.is_ready(1.46)


def test_what_is_not_used_is_lost_beyond_the_bucket() -> None:
    """PGM-064, PGM-065."""
    bucket = TokenBucket(1000, 40, 0.0)
    bucket.is_ready(100.0)
    bucket.take(140)
    assert bucket.debt_s(100.0) == pytest.approx(0.1)
