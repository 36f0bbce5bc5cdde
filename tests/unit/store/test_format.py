"""The version of a store, and migration."""

from __future__ import annotations

import pytest

from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.errors import StoreDamaged, StoreForeign, StoreTooNew
from openmsmq.store.format import FORMAT, FORMAT_KEY, MIGRATIONS, format_row, migrate, read_format
from openmsmq.store.memory import MemoryStore


def test_the_row_says_the_version() -> None:
    assert format_row() == b"OpenMSMQ 13"
    assert read_format(format_row(), "here") == FORMAT == 13


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(StoreTooNew, match="here has format 14, this program knows 13"):
        read_format(format_row(14), "here")


@pytest.mark.parametrize("row", [None, b"", b"1", b"Other 1"])
def test_a_row_of_another_program_is_foreign(row: bytes | None) -> None:
    with pytest.raises(StoreForeign, match="here"):
        read_format(row, "here")


@pytest.mark.parametrize("row", [b"OpenMSMQ ", b"OpenMSMQ 0", b"OpenMSMQ x", b"OpenMSMQ -1"])
def test_a_version_that_never_was_is_damage(row: bytes) -> None:
    with pytest.raises(StoreDamaged, match="here"):
        read_format(row, "here")


def test_there_is_a_way_from_every_older_version() -> None:
    assert sorted(MIGRATIONS) == list(range(1, FORMAT))


def test_migrations_run_one_after_the_other_and_end_with_the_version() -> None:
    store = MemoryStore()
    order: list[int] = []

    def step(number: int) -> None:
        order.append(number)

    def first(writer: Writer) -> None:
        step(1)
        writer.put(Table.QUEUES, b"q", b"from 1")

    def second(writer: Writer) -> None:
        step(2)
        assert writer.get(Table.QUEUES, b"q") == b"from 1"

    migrate(store.begin(), 1, to=3, migrations={2: second, 1: first})
    store.commit()
    store.refresh()
    assert order == [1, 2]
    assert store.snapshot.get(Table.META, FORMAT_KEY) == format_row(3)
