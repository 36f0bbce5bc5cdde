"""Signatures that come again with other messages."""

from __future__ import annotations

import pytest

from openmsmq.engine.arrivals import replays as module
from openmsmq.engine.arrivals.replays import Replays


def test_the_same_signature_counts_for_one_message() -> None:
    "MSEC-088"
    seen = Replays()
    assert not seen.is_replay(b"s", b"1", 100, 60)
    assert not seen.is_replay(b"s", b"1", 110, 60), "the message itself, that comes again"
    assert seen.is_replay(b"s", b"2", 159, 60)
    assert not seen.is_replay(b"t", b"2", 159, 60)


def test_a_signature_is_forgotten_after_the_window() -> None:
    seen = Replays()
    assert not seen.is_replay(b"s", b"1", 100, 60)
    assert not seen.is_replay(b"s", b"2", 160, 60)
    assert seen.is_replay(b"s", b"1", 161, 60)


def test_no_more_than_the_limit_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLAYS_MAX", 3)
    seen = Replays()
    for one in (b"a", b"b", b"c", b"d"):
        assert not seen.is_replay(one, b"1", 0, 60)
    assert len(seen._seen) == 3
    assert seen.is_replay(b"d", b"2", 0, 60)
    assert not seen.is_replay(b"a", b"2", 0, 60)
