"""The page about the lives of messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.unit.pipelines.reports.test_page import HOSTILE, Tags

from openmsmq.pipelines.reports.audit_page import AuditFindings, _steps, _story, page

AT = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
T = 1_700_000_000
LIFE = [
    (T, "sent", 0, "", "shop: .\\Journal$"),
    (T + 1, "passed on", 0, "10.0.0.7", "shop: traces"),
    (T + 9, "failed", 0xC002, "", "shop: admin"),
]
ROW = (HOSTILE, HOSTILE, HOSTILE, T, [(T, HOSTILE, 0, HOSTILE, HOSTILE)])
FULL = AuditFindings(
    outcomes={"received": 8, "failed": 1},
    latencies=[
        ("all", 9, [1.0, 2.5, 3.0], 4, 8, [5.0, 6.0, 7.0], 80),
        (HOSTILE, 0, None, None, 0, None, None),
    ],
    spread=[(0, 3), (2, 5)],
    slowest=[ROW],
    failed=[("id", "order 1", "orders", T, LIFE)],
    unfinished=[],
)


def test_the_page_tells_how_long_it_took() -> None:
    words = Tags(page(FULL, AT).page()).words
    assert {"2.5", "6", "80", "Slowest to be received", "Failed", "3 to 6 s"} <= set(words)
    assert "Not received yet, oldest first" not in words


def test_a_life_is_distinguished_from_its_beginning() -> None:
    assert _story(T, LIFE) == (
        "2023-11-14 22:13:20 sent [shop: .\\Journal$]"
        " → +1 s passed on to 10.0.0.7 [shop: traces]"
        " → +9 s failed (the message was not received in time) [shop: admin]"
    )
    assert _story(None, LIFE[1:]).startswith("2023-11-14 22:13:21 passed on")
    assert "+8 s" in _story(None, LIFE[1:])


def test_what_two_queues_tell_is_reported_once() -> None:
    both = [(T, "sent", 0, "", "shop: .\\Journal$"), (T, "sent", 0, "", "office: orders")]
    assert _story(T, both) == "2023-11-14 22:13:20 sent [shop: .\\Journal$, office: orders]"


def test_what_others_wrote_is_text() -> None:
    found = Tags(page(FULL, AT).page())
    assert "script" not in found.tags
    assert HOSTILE in found.words


def test_without_messages_there_is_a_page_too() -> None:
    text = page(AuditFindings({}, [], [], [], [], []), AT).page()
    assert "<h2>" not in text


@pytest.mark.parametrize(("power", "text"), [(0, "0 s"), (1, "1 to 2 s"), (2, "3 to 6 s")])
def test_steps_double(power: int, text: str) -> None:
    assert _steps(power) == text
