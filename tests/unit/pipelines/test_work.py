"""What kinds of pipelines offer and tell."""

from __future__ import annotations

import json

from openmsmq.pipelines.work import Backlog, Progress


def test_the_rate_of_a_batch() -> None:
    assert Progress(0, 10, 0.5).rate == 20
    assert Progress(0, 10, 0).rate == 0
    assert Progress(3, 10, 0.5, lag=7).document() == {
        "batch": 3,
        "rows": 10,
        "seconds": 0.5,
        "lag": 7,
        "oldest": None,
        "queues": (),
        "rate": 20.0,
    }


def test_a_batch_can_be_read_back() -> None:
    queues = (Backlog("here", r".\private$\orders", 7, 3, 100),)
    batch = Progress(3, 10, 0.5, lag=7, oldest=3, queues=queues)
    assert Progress.of(json.loads(json.dumps(batch.document()))) == batch
    assert Progress.of({"batch": 0, "rows": 1, "seconds": 1.0}) == Progress(0, 1, 1.0)
