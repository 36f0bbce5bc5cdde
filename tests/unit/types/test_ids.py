"""Identifiers of messages that were sent together."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.types.ids import MessageIds

SOURCE = UUID("12345678-1234-4234-8234-123456789abc")


def written(*numbers: int) -> list[str]:
    return [f"12345678-1234-4234-8234-123456789abc\\{number}" for number in numbers]


def test_they_are_a_sequence_of_texts() -> None:
    ids = MessageIds(SOURCE, 5, 3)
    assert len(ids) == 3
    assert list(ids) == written(5, 6, 7)
    assert [ids[0], ids[2], ids[-1]] == written(5, 7, 7)
    assert ids[1:] == written(6, 7)
    assert ids[::-1] == written(7, 6, 5)
    assert written(6)[0] in ids
    assert repr(ids) == repr(written(5, 6, 7))


@pytest.mark.parametrize("index", [3, -4])
def test_there_is_nothing_beyond_their_end(index: int) -> None:
    with pytest.raises(IndexError):
        MessageIds(SOURCE, 5, 3)[index]


def test_there_may_be_none() -> None:
    assert list(MessageIds(SOURCE, 5, 0)) == []
    assert MessageIds(SOURCE, 5, 0) == []


def test_they_equal_any_sequence_with_the_same_texts() -> None:
    ids = MessageIds(SOURCE, 5, 2)
    assert ids == written(5, 6)
    assert ids == MessageIds(SOURCE, 5, 2)
    assert hash(ids) == hash(MessageIds(SOURCE, 5, 2))
    assert ids != MessageIds(SOURCE, 6, 2)
    assert ids != MessageIds(UUID(int=1), 5, 2)
    assert ids != 5


def test_numbers_have_32_bits_as_packets_do() -> None:
    assert list(MessageIds(SOURCE, 0xFFFFFFFF, 2)) == written(0xFFFFFFFF, 0)
