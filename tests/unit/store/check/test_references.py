"""References come out sorted, from memory and from disk."""

from __future__ import annotations

import errno
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from openmsmq.errors import StorageFull
from openmsmq.store.check.references import PacketReference, References


@pytest.fixture
def file() -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as opened:
        yield opened


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 21, 5000])
@pytest.mark.parametrize("in_memory", [1, 7, 2100])
def test_references_come_out_sorted_by_packet(file: BinaryIO, count: int, in_memory: int) -> None:
    chance = random.Random(count)
    given = [
        PacketReference(
            chance.randrange(1 << 64),
            chance.randrange(1 << 32),
            chance.randrange(1 << 32),
            chance.randrange(1 << 64),
        )
        for _ in range(count)
    ]
    references = References(file, in_memory)
    for reference in given:
        references.add(*reference)
    assert list(references) == sorted(given)


def test_many_references_go_to_disk(file: BinaryIO) -> None:
    references = References(file, 10)
    for number in range(25):
        references.add(number, 1, 2, 3)
    assert file.seek(0, 2) == 20 * 24
    assert [reference.packet for reference in references] == list(range(25))


def test_a_disk_without_room_is_an_error() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with (
        full.open("wb", buffering=0) as file,
        pytest.raises(StorageFull, match="temporary") as caught,
    ):
        References(file, 1).add(1, 2, 3, 4)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
