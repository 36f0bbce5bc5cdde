"""Kinds of queues."""

from __future__ import annotations

from typing import Any

import pytest

from openmsmq.console.desk.kinds import is_letter_queue, letters_in, waiting_in


class Info:
    """As much of a queue as is looked at."""

    def __init__(self, name: str, kind: str, messages: int = 1) -> None:
        self.name, self.kind, self.messages = name, kind, messages


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        (r".\DeadLetter$", "system", True),
        (r".\Refused$", "system", True),
        (r".\Journal$", "system", False),
        (r".\private$\orders;poison", "subqueue", True),
        (r".\private$\orders;late", "subqueue", False),
        (r".\private$\error", "private", True),
        (r".\private$\billing.errors", "private", True),
        (r".\private$\terror", "private", False),
        (r".\private$\error\Journal$", "journal", False),
    ],
)
def test_where_failed_messages_end(name: str, kind: str, expected: bool) -> None:
    info: Any = Info(name, kind)
    assert is_letter_queue(info) is expected


def test_messages_are_counted_by_what_they_wait_for() -> None:
    infos: Any = [
        Info(r".\private$\orders", "private", 5),
        Info(r".\private$\orders\Journal$", "journal", 7),
        Info(r".\private$\orders;poison", "subqueue", 2),
        Info(r".\XactDeadLetter$", "system", 3),
    ]
    assert (waiting_in(infos), letters_in(infos)) == (5, 5)
