"""How a query is waited for; tests/e2e/test_demo.py runs it all."""

from __future__ import annotations

from typing import cast

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.query import StreamingQuery

from openmsmq.demo import lake
from openmsmq.demo.lake import _await
from openmsmq.errors import ReceiveTimeout


class Query:
    """A query that reads ten rows with every look, until it has some."""

    def __init__(self, looks: int) -> None:
        self._left = looks
        self.recentProgress: list[Query] = []
        self.numInputRows = 10
        self.stops = 0

    def awaitTermination(self, timeout: int) -> bool:
        self._left -= 1
        if self._left >= 0:
            self.recentProgress.append(self)
        return self._left == 0

    def stop(self) -> None:
        self.stops += 1


def test_a_query_is_waited_for_while_it_goes_on() -> None:
    seen: list[int] = []
    _await(cast(StreamingQuery, Query(3)), seen.append)
    assert seen == [10, 20]


def test_a_query_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake, "PATIENCE", 0.01)
    query = Query(-1)
    with pytest.raises(ReceiveTimeout, match="Spark has read 0 orders"):
        _await(cast(StreamingQuery, query), lambda rows: None)
    assert query.stops == 1
