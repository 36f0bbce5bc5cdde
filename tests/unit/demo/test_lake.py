"""What Spark needs, and how it says what is wrong; tests/e2e/test_demo.py runs it."""

from __future__ import annotations

import sys
from typing import cast

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkValueError
from pyspark.sql.streaming.query import StreamingQuery

from openmsmq.demo import lake
from openmsmq.demo.lake import SparkFailed, SparkMissing, _await, check_spark, failures
from openmsmq.errors import ReceiveTimeout


def test_a_computer_without_java_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SparkMissing, match="openjdk-17"):
        check_spark()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SparkMissing, match="openjdk-17"):
        check_spark()


def test_a_python_without_the_extra_is_told_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SparkMissing, match=r"openmsmq\[spark\]"):
        check_spark()


def test_what_spark_complains_about_is_one_line() -> None:
    with pytest.raises(SparkFailed) as caught, failures():
        raise PySparkValueError("first\nsecond")
    assert caught.value.detail == "first"


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
