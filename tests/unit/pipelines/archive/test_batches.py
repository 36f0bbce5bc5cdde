"""Batches and files of archives."""

from __future__ import annotations

import pytest

from openmsmq.pipelines.archive.batches import File, ManifestEntry, is_known, new_entry
from openmsmq.pipelines.tables import PipelineFileError


def test_a_record_can_be_read_back() -> None:
    file = File("a/b", 2, 9, queue="q", day="2026-07-01", batches=(1, 1), positions=(3, 4))
    offset = {"owner": "me", "positions": {"m/q": 4}}
    spans = {"m/q": (2, 4)}
    first = new_entry(None, 0, "me", {}, (), is_all=True, offset=offset)
    entry = new_entry(first, 1, "me", spans, (file,), is_all=True, offset=offset)
    assert (entry.rows, entry.expected, entry.total) == (2, 2, 2)
    assert ManifestEntry.of(entry.document()) == new_entry(
        first, 1, "me", spans, (), is_all=False, offset=offset
    ).__class__(1, "me", 2, entry.written, True, spans, (), offset, 2)


def test_a_row_that_is_missing() -> None:
    with pytest.raises(PipelineFileError, match="batch 1 has 0 rows of 2 messages"):
        new_entry(None, 1, "me", {"m/q": (2, 4)}, (), is_all=True, offset=None)


def test_batches_of_another_stream() -> None:
    last = ManifestEntry(4, "me", 0, "")
    assert (is_known(last, 4, "me", "x"), is_known(last, 5, "me", "x")) == (True, False)
    with pytest.raises(PipelineFileError, match="x has batches of another stream, me"):
        is_known(last, 5, "you", "x")
