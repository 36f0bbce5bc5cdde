"""Findings that are silent for some hours."""

from __future__ import annotations

from pathlib import Path

from openmsmq.console.desk.silences import HOUR_S, OWN, Silences
from openmsmq.console.limits import SILENCES_MAX
from openmsmq.console.models import FindingView

OLD = FindingView("problem", "old", "it waits", "read it", "orders")
FULL = FindingView("problem", "quota", "it is full", "read it", "orders")


def test_a_finding_is_silent_until_its_hours_are_over_and_comes_last() -> None:
    now = 1000.0
    silences = Silences(lambda: now)
    until = silences.silence("a", "old", "orders", 2)
    assert until is not None
    assert until.timestamp() == 1000 + 2 * HOUR_S
    assert [one.kind for one in silences.mark("a", [OLD, FULL])] == ["quota", "old"]
    assert silences.mark("a", [OLD])[0].silenced == until
    assert silences.mark("b", [OLD]) == [OLD], "of another manager"
    now += 2 * HOUR_S
    assert silences.mark("a", [OLD, FULL]) == [OLD, FULL]


def test_it_can_be_heard_again_at_once() -> None:
    silences = Silences(lambda: 0.0)
    silences.silence("a", "old", "orders", 2)
    assert silences.silence("a", "old", "orders", 0) is None
    assert silences.mark("a", [OLD]) == [OLD]


def test_there_is_a_bound_and_the_one_that_ends_first_goes() -> None:
    silences = Silences(lambda: 0.0)
    silences.silence("a", "old", "orders", 1)
    for number in range(SILENCES_MAX):
        silences.silence("a", "old", str(number), 2)
    assert silences.mark("a", [OLD]) == [OLD]


def test_a_directory_keeps_them_and_knows_its_own_manager(tmp_path: Path) -> None:
    service = Silences(lambda: 0.0, tmp_path, own="a")
    command = Silences(lambda: 0.0, tmp_path)
    command.silence(OWN, "old", "Orders", 2, "at night")
    assert service.mark("a", [OLD])[0].silenced is not None
    assert service.mark("b", [OLD]) == [OLD]
    service.silence("b", "quota", "orders", 1)
    assert [(one.manager, one.kind) for one in command.all()] == [("b", "quota"), (OWN, "old")]
    service.silence("a", "old", "orders", 0)
    assert [one.kind for one in command.all()] == ["quota"]
    assert Silences(lambda: HOUR_S + 1.0, tmp_path).all() == []
