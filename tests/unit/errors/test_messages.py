"""Errors about messages and transactions."""

from __future__ import annotations

import pytest

from openmsmq.errors import MQError, ReceiveTimeout


def test_a_receive_that_waited_in_vain_is_also_a_timeout_error() -> None:
    with pytest.raises(TimeoutError) as caught:
        raise ReceiveTimeout("5 s")
    assert isinstance(caught.value, MQError)
    assert caught.value.args == ("5 s",)
    assert str(caught.value).startswith("No message arrived")
