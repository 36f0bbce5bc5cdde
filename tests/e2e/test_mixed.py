"""Messages of all kinds in one call: each is kept as it says itself, and in its place."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from openmsmq import Message, Queue, ReceivedMessage
from tests.e2e.managers import ManagerProcess, running

pytestmark = pytest.mark.slow
COUNT = 4_000
AT_ONCE = 500
LABELS = ("", "order", "late order")
QUEUES = (None, r"DIRECT=OS:elsewhere\private$\answers")


def message(number: int, random: Random) -> Message:
    """One of few kinds, so that many are alike; its number is in `app_specific`."""
    return Message(
        b"",
        label=random.choice(LABELS),
        priority=random.choice((0, 3, 7)),
        recoverable=random.random() < 0.5,
        journal=random.random() < 0.5,
        response_queue=random.choice(QUEUES),
        time_to_be_received=random.choice((None, 86_400)),
        app_specific=number,
    )


def facts(one: Message | ReceivedMessage) -> tuple[Any, ...]:
    lifetime = one.time_to_be_received
    return one.app_specific, one.label, one.priority, one.recoverable, one.journal, lifetime


def everything(queue: Queue) -> list[tuple[Any, ...]]:
    found: list[ReceivedMessage] = []
    while more := queue.peek_many(1000, timeout=0, after=found[-1].lookup_id if found else 0):
        found += more
    return [facts(one) for one in found]


@pytest.mark.parametrize("seed", range(2))
def test_each_message_is_kept_as_it_says_itself(seed: int, tmp_path: Path) -> None:
    process, random = ManagerProcess(tmp_path, "shop01"), Random(seed)
    sent = [message(number, random) for number in range(COUNT)]
    expected = [facts(one) for one in sorted(sent, key=lambda one: -one.priority)]
    with running(process):
        with process.connect() as manager:
            queue = manager.create_queue("orders")
            for first in range(0, COUNT, AT_ONCE):
                queue.send_many(sent[first : first + AT_ONCE])
            assert everything(queue) == expected
        process.kill()
        process.start()
        with process.connect() as manager:
            left = everything(manager.open_queue("orders"))
    assert left == [one for one in expected if one[3]], "what the disk was to keep"
