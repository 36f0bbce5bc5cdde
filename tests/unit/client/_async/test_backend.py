"""Every backend has all that the API asks for, under the same names."""

from __future__ import annotations

import inspect

import pytest

from openmsmq.client._async import backend as backend_aio
from openmsmq.client._async import remote as remote_aio
from openmsmq.client._async import remote_parts as remote_parts_aio
from openmsmq.client._sync import backend as backend_sync
from openmsmq.client._sync import remote as remote_sync
from openmsmq.client.embedded._async import embedded as embedded_aio
from openmsmq.client.embedded._sync import embedded as embedded_sync


@pytest.mark.parametrize(
    ("port", "backend"),
    [
        (backend_aio.Backend, embedded_aio.Embedded),
        (backend_sync.Backend, embedded_sync.Embedded),
        (backend_aio.StreamBackend, embedded_aio.EmbeddedStream),
        (backend_aio.Backend, remote_aio.Remote),
        (backend_sync.Backend, remote_sync.Remote),
        (backend_aio.StreamBackend, remote_parts_aio.RemoteStream),
        (backend_aio.SubscriptionBackend, embedded_aio.EmbeddedSubscription),
    ],
    ids=[
        "aio",
        "sync",
        "stream",
        "remote aio",
        "remote sync",
        "remote stream",
        "subscription",
    ],
)
def test_a_backend_has_every_call_with_the_same_parameters(port: type, backend: type) -> None:
    for name, asked in vars(port).items():
        if name.startswith("_"):
            continue
        found = getattr(backend, name)
        if inspect.isfunction(asked):
            assert list(inspect.signature(found).parameters) == list(
                inspect.signature(asked).parameters
            ), name
            assert inspect.iscoroutinefunction(found) is inspect.iscoroutinefunction(asked), name
