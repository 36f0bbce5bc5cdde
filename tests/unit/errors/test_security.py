"""Errors about permissions."""

from __future__ import annotations

import pytest

from openmsmq.errors import AccessDenied, MQError, PrivilegeNotHeld


@pytest.mark.parametrize("kind", [AccessDenied, PrivilegeNotHeld])
def test_what_is_not_permitted_is_also_a_permission_error(kind: type[MQError]) -> None:
    with pytest.raises(PermissionError) as caught:
        raise kind("orders")
    assert caught.value.args == ("orders",)
    assert "orders" in str(caught.value)
