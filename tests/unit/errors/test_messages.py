"""Errors about messages and transactions."""

from __future__ import annotations

import pytest

from openmsmq.errors import InsufficientResources, MessageTooLarge, MQError, ReceiveTimeout


def test_a_receive_that_waited_in_vain_is_also_a_timeout_error() -> None:
    with pytest.raises(TimeoutError) as caught:
        raise ReceiveTimeout("5 s")
    assert isinstance(caught.value, MQError)
    assert caught.value.args == ("5 s",)
    assert str(caught.value).startswith("No message arrived")


def test_a_message_too_large_goes_over_the_wire_as_insufficient_resources() -> None:
    """It has no code of its own, so the other side makes the wider error of it."""
    assert MessageTooLarge.hresult == InsufficientResources.hresult
    assert type(MQError.from_hresult(MessageTooLarge.hresult)) is InsufficientResources
    assert str(MessageTooLarge("x")).startswith("The message is too large for a packet")
