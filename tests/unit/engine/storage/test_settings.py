"""Settings in the store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from openmsmq.engine.storage.settings import SETTINGS_KEY, load_settings, settings_row
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore
from openmsmq.types.settings import HISTORY_MIB, Settings

EVERYTHING = Settings(quota=5, journal_quota=6, history=7, time_to_reach_queue=8, hardened=True)


def stored(row: bytes) -> Settings:
    """The settings of a store that holds them as `row`."""
    store = MemoryStore()
    store.begin().put(Table.META, SETTINGS_KEY, row)
    store.commit()
    store.refresh()
    return load_settings(store.snapshot)


def test_a_store_without_settings_has_the_defaults() -> None:
    """DMPR-009: there is no quota."""
    assert load_settings(MemoryStore().snapshot) == Settings()
    assert load_settings(MemoryStore().snapshot).quota is None


@pytest.mark.parametrize("settings", [Settings(), EVERYTHING], ids=["defaults", "everything"])
def test_settings_are_stored_and_read_back(settings: Settings) -> None:
    assert stored(settings_row(settings)) == settings


def test_what_another_version_knows_is_left_out_or_has_its_default() -> None:
    row = json.loads(settings_row(EVERYTHING))
    row["color"] = "blue"
    del row["history"]
    assert stored(json.dumps(row).encode()) == replace(EVERYTHING, history=HISTORY_MIB)


def test_settings_are_read_under_the_names_that_older_versions_gave_them() -> None:
    found = stored(json.dumps({"once_count": 7, "once_time": 8, "history": 9}).encode())
    assert found == Settings(dedup_count=7, dedup_time=8, history=9)
