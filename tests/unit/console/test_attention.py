"""What needs attention."""

from __future__ import annotations

from dataclasses import replace

import pytest

import openmsmq
from openmsmq.console.attention import (
    FORECAST_POINTS,
    KINDS,
    OLD_S,
    PREPARED_S,
    age_text,
    disk_findings,
    findings_of,
)
from openmsmq.store.limits import RESERVE
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.queues import QueueInfo


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> QueueInfo:
    """A healthy queue."""
    with openmsmq.open(tmp_path_factory.mktemp("data")) as manager:
        return manager.create_queue("orders", quota=10).info()


WAITING = OutgoingInfo(
    "DIRECT=OS:a\\b", "waiting", 5, 0, 0, 9, 1, "", None, 3, None, "refused", 0, ()
)


def kinds(*queues: QueueInfo) -> list[str]:
    return [one.kind for one in findings_of(queues, (), {})]


def test_a_healthy_manager_needs_none(info: QueueInfo) -> None:
    assert findings_of([info], [replace(WAITING, failures=0)], {"tx": 5}) == []


def test_queues_that_need_some(info: QueueInfo) -> None:
    assert kinds(replace(info, messages=1, oldest_age=OLD_S)) == ["old"]
    assert kinds(replace(info, messages=1, bytes=10_000)) == ["quota"]
    assert kinds(replace(info, messages=1, name=r".\DeadLetter$", kind="system")) == [
        "dead letters"
    ]
    assert kinds(replace(info, messages=1, name=r".\private$\o;poison", kind="subqueue")) == [
        "poison"
    ]


def test_a_queue_that_no_one_reads_is_worse_than_a_slow_one(info: QueueInfo) -> None:
    old = replace(info, messages=1, oldest_age=OLD_S)
    (idle,) = findings_of([replace(old, state="inactive")], (), {})
    (slow,) = findings_of([replace(old, state="active")], (), {})
    assert (idle.level, slow.level) == ("problem", "warning")


def test_ways_and_transactions_that_need_some() -> None:
    (failing,) = findings_of((), [WAITING], {})
    assert "refused" in failing.text
    (paused,) = findings_of((), [replace(WAITING, state="on hold")], {})
    assert paused.remedy == "resume it"
    (left,) = findings_of((), (), {"tx": 601})
    assert "10 min" in left.text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5 s"), (70, "1 min"), (3700, "1 h 1 min"), (3 * 86400, "3 days")],
)
def test_ages_are_words(seconds: int, text: str) -> None:
    assert age_text(seconds) == text


def test_a_disk_that_is_filling_is_said_to_be_full_some_day() -> None:
    def found(free: list[float]) -> list[tuple[str, str]]:
        times = [60.0 * minute for minute in range(len(free))]
        return [(one.level, one.text) for one in disk_findings({"time": times, "free": free})]

    gib = float(1 << 30)
    assert found([]) == []
    assert found([40 * gib] * 60) == []
    assert found([40 * gib + minute for minute in range(60)]) == []
    falling = [40 * gib - minute * gib / 60 for minute in range(61)]
    hours = int((39 * gib - RESERVE) / gib)
    assert found(falling) == [
        (
            "warning",
            f"39.0 GiB are free on the disk: at the rate of the last 1 h 0 min it is full"
            f" in {hours} h {int((39 * gib - RESERVE) / gib * 60) % 60} min",
        )
    ]
    assert found(falling[: FORECAST_POINTS - 1]) == []
    assert found([6 * gib - minute * gib / 60 for minute in range(61)])[0][0] == "problem"
    assert found([gib])[0] == ("warning", "only 1.0 GiB are free on the disk")
    assert found([float(RESERVE)])[0][0] == "problem"
    assert "no message is taken" in found([float(RESERVE)])[0][1]


def test_every_kind_of_finding_is_named(info: QueueInfo) -> None:
    queues = [
        replace(info, messages=1, oldest_age=OLD_S, bytes=10_000),
        replace(info, messages=1, name=r".\DeadLetter$", kind="system"),
        replace(info, messages=1, name=r".\private$\a;poison", kind="subqueue"),
    ]
    outgoing = [WAITING, replace(WAITING, state="on hold")]
    found = findings_of(queues, outgoing, {"tx": PREPARED_S})
    found += disk_findings({"time": [0.0], "free": [0.0]})
    assert {one.kind for one in found} == set(KINDS)
