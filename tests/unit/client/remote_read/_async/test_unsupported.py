"""What remote read has no calls for."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from openmsmq.client._async.backend import Backend
from openmsmq.client.remote_read._async.backend import RpcBackend
from openmsmq.client.remote_read._async.unsupported import UnsupportedCalls
from openmsmq.errors import UnsupportedOperation


@pytest.mark.parametrize(
    "name",
    [name for name in vars(UnsupportedCalls) if not name.startswith("_") and name != "protocol"],
)
def test_each_call_is_refused_with_what_to_use_instead(name: str) -> None:
    call = getattr(UnsupportedCalls(), name)
    asked = inspect.signature(call).parameters.values()
    by_place = ["some call" for one in asked if one.kind is one.POSITIONAL_ONLY]
    by_name: dict[str, Any] = {
        one.name: None for one in asked if one.kind not in (one.POSITIONAL_ONLY, one.VAR_KEYWORD)
    }
    with pytest.raises(UnsupportedOperation, match=r"openmsmq\.connect\(\)"):
        asyncio.run(call(*by_place, **by_name))


def test_a_backend_has_everything_that_the_api_asks_for() -> None:
    asked = {name for name in vars(Backend) if not name.startswith("_")}
    assert asked <= set(dir(RpcBackend))
