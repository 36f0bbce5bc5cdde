"""What can be set for a whole queue manager."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from openmsmq.errors import IllegalPropertyValue
from openmsmq.properties.message import INFINITE
from openmsmq.types.settings import HISTORY_MIB, Settings

EVERYTHING = Settings(quota=5, journal_quota=6, history=7, time_to_reach_queue=8, hardened=True)


def test_a_refusal_says_what_is_allowed() -> None:
    with pytest.raises(IllegalPropertyValue, match="0 to 1048576"):
        Settings().changed(history=(1 << 20) + 1)


def test_the_defaults_are_those_of_the_specification() -> None:
    """DMPR-010, DMPR-086."""
    made = Settings()
    assert made.journal_quota is None
    assert made.time_to_reach_queue == 0x54600
    assert (made.quota, made.history, made.hardened) == (None, HISTORY_MIB, False)
    assert made.confirmation_grace == 2


def test_a_change_leaves_the_rest() -> None:
    assert EVERYTHING.changed(quota=None) == replace(EVERYTHING, quota=None)
    assert EVERYTHING.quota == 5
    with pytest.raises(FrozenInstanceError):
        EVERYTHING.quota = 6  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize(
    "wrong",
    [
        {"quota": -1},
        {"quota": INFINITE},
        {"quota": True},
        {"quota": 1.5},
        {"quota": "5"},
        {"journal_quota": -1},
        {"journal_quota": INFINITE},
        {"time_to_reach_queue": -1},
        {"time_to_reach_queue": INFINITE},
        {"clock_tolerance": -1},
        {"inherited_names": "old"},
        {"inherited_names": [1]},
        {"clock_tolerance": None},
        {"clock_tolerance": False},
        {"clock_tolerance": 86_401},
        {"history": -1},
        {"history": None},
        {"history": False},
        {"history": (1 << 20) + 1},
        {"confirmation_grace": -1},
        {"confirmation_grace": None},
        {"confirmation_grace": INFINITE},
        {"hardened": 1},
        {"hardened": None},
    ],
    ids=str,
)
def test_values_outside_their_sets_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(IllegalPropertyValue) as info:
        Settings().changed(**wrong)
    assert info.value.hresult == 0xC00E0018
    assert next(iter(wrong)) in str(info.value)


@pytest.mark.parametrize(
    "right",
    [
        {"quota": 0},
        {"quota": INFINITE - 1},
        {"journal_quota": 0},
        {"time_to_reach_queue": 0},
        {"time_to_reach_queue": None},
        {"clock_tolerance": 0},
        {"inherited_names": ("old",)},
        {"clock_tolerance": 86_400},
        {"history": 0},
        {"history": 1 << 20},
        {"confirmation_grace": 0},
    ],
    ids=str,
)
def test_the_last_values_of_each_set_are_taken(right: dict[str, Any]) -> None:
    made = Settings().changed(**right)
    assert {name: getattr(made, name) for name in right} == right


@pytest.mark.parametrize(
    "wrong",
    [
        {"new_queues": "closed"},
        {"permissions": 5},
        {"topology": 5},
        {"hardened": 1},
        {"inherited_names": "old"},
    ],
)
def test_settings_of_other_types_and_words_are_refused(wrong: dict[str, Any]) -> None:
    [(name, _)] = wrong.items()
    with pytest.raises(IllegalPropertyValue, match=name):
        Settings(**wrong)
