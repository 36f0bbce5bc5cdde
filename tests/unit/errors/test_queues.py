"""Errors about queues and queue managers."""

from __future__ import annotations

import pytest

from openmsmq.errors import HResult, MQError, RemoteMachineNotAvailable, ServiceNotAvailable


@pytest.mark.parametrize("kind", [ServiceNotAvailable, RemoteMachineNotAvailable])
def test_what_cannot_be_reached_is_also_a_connection_error(kind: type[MQError]) -> None:
    with pytest.raises(ConnectionError) as caught:
        raise kind("orders-host")
    assert "orders-host" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "example"),
    [
        (HResult.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME, r".\private$\queue"),
        (HResult.MQ_ERROR_ILLEGAL_FORMATNAME, r"DIRECT=OS:machine\private$\queue"),
    ],
)
def test_a_wrong_name_is_answered_with_a_right_one(code: HResult, example: str) -> None:
    assert example in MQError.from_hresult(code).explanation
