"""Results of RemoteRead's operations."""

from __future__ import annotations

from openmsmq.errors import MQError, QueueNotFound
from openmsmq.interfaces.remote_read.results import (
    STATUS_ACCESS_DENIED,
    StatusError,
    nothing_received,
    result_of,
)


def test_every_error_has_its_code() -> None:
    assert result_of(None) == 0
    assert result_of(QueueNotFound()) == 0xC00E0003
    assert result_of(StatusError(STATUS_ACCESS_DENIED)) == 0xC0000022
    assert result_of(ValueError("a mistake")) == MQError.hresult


def test_a_read_that_failed_has_no_sections() -> None:
    results = nothing_received(QueueNotFound())
    assert (results.count, results.sections, results.result) == (0, None, 0xC00E0003)
