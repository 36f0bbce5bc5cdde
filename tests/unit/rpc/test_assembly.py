"""Stubs that come in fragments."""

from __future__ import annotations

import pytest

from openmsmq.rpc.assembly import Assembly, TooLarge


def test_fragments_are_joined_in_their_order() -> None:
    assembly = Assembly(1, 0, 7, 10)
    assembly.add(b"abc")
    assert assembly.stub() == b"abc"
    assembly.add(b"def")
    assert assembly.stub() == b"abcdef"
    assert assembly.size == 6


def test_more_than_the_limit_is_refused() -> None:
    assembly = Assembly(1, 0, 7, 4)
    assembly.add(b"abcd")
    with pytest.raises(TooLarge):
        assembly.add(b"e")
