"""What needs attention."""

from __future__ import annotations

from dataclasses import replace

import pytest

import openmsmq
from openmsmq.console.attention import OLD_S, age_text, findings_of
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
