"""What kinds of pipelines offer and tell."""

from __future__ import annotations

from openmsmq.pipelines.work import Progress


def test_the_rate_of_a_batch() -> None:
    assert Progress(0, 10, 0.5).rate == 20
    assert Progress(0, 10, 0).rate == 0
    assert Progress(3, 10, 0.5, lag=7).document() == {
        "batch": 3,
        "rows": 10,
        "seconds": 0.5,
        "lag": 7,
        "oldest": None,
        "rate": 20.0,
    }
