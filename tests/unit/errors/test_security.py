"""Errors about permissions."""

from __future__ import annotations

import pytest

from openmsmq.errors import AccessDenied, MQError, PrivilegeNotHeld, TokenRefused


@pytest.mark.parametrize("kind", [AccessDenied, PrivilegeNotHeld])
def test_what_is_not_permitted_is_also_a_permission_error(kind: type[MQError]) -> None:
    with pytest.raises(PermissionError) as caught:
        raise kind("orders")
    assert caught.value.args == ("orders",)
    assert "orders" in str(caught.value)


def test_a_refused_token_is_nothing_that_a_program_would_try_again() -> None:
    """Programs repeat what fails with a ConnectionError, many also any OSError."""
    assert not issubclass(TokenRefused, OSError)
    error = TokenRefused("shop01:1811")
    assert error.hresult == AccessDenied.hresult
    assert "openmsmq token create" in str(error)
    assert type(MQError.from_hresult(error.hresult)) is AccessDenied
