"""What a decoded body is."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from openmsmq.bodies.body import Body


def test_a_body_needs_no_reason_and_does_not_change() -> None:
    body = Body("text", "hello", "hello")
    assert body.reason is None
    with pytest.raises(FrozenInstanceError):
        body.format = "xml"  # type: ignore[misc]  # the point of the test
