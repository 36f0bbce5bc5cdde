"""What ends a manager, and what is written down of it."""

from __future__ import annotations

import pytest

from openmsmq.errors import (
    QueueNotFound,
    StorageError,
    StorageFailed,
    StorageFull,
    StoreDamaged,
)
from openmsmq.runtime.failure import FaultLog, is_fatal, storage_failure
from openmsmq.runtime.limits import FAULTS_LOGGED


@pytest.mark.parametrize(
    ("error", "fatal"),
    [
        (StorageFull("disk"), False),
        (StorageFailed("EIO"), True),
        (StoreDamaged("page 7"), True),
        (QueueNotFound("q"), False),
        (ZeroDivisionError(), False),
    ],
    ids=repr,
)
def test_only_a_store_that_fails_is_fatal_and_a_full_disk_is_not(
    error: Exception, fatal: bool
) -> None:
    """What an operation raises itself is its own fault."""
    assert is_fatal(error) is fatal


@pytest.mark.parametrize("error", [StorageFailed("EIO"), ZeroDivisionError("by the way")], ids=repr)
def test_the_reason_is_a_storage_error_and_in_the_log(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    found = storage_failure(error)
    assert isinstance(found, StorageError)
    assert str(error) in str(found)
    (record,) = caplog.records
    assert record.levelname == "CRITICAL"
    assert str(error) in record.getMessage()


def test_refusals_are_not_written_down_and_mistakes_not_without_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FaultLog()
    log.log(QueueNotFound("q"))
    assert not caplog.records
    for _ in range(FAULTS_LOGGED + 5):
        log.log(ZeroDivisionError())
    assert len(caplog.records) == FAULTS_LOGGED
    assert "no more" in caplog.records[-1].getMessage()
