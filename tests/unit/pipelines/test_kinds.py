"""All kinds of pipelines."""

from __future__ import annotations

from openmsmq.pipelines.kinds import KINDS


def test_every_kind_but_replay_is_a_stream() -> None:
    assert {"sink", "archive", "replay", "route"} <= KINDS.keys()
    assert KINDS["archive"].streams
    assert not KINDS["replay"].streams
