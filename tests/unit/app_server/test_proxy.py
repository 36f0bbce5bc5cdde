"""A session opens queues of this manager, and those of others where the service knows them."""

from __future__ import annotations

from typing import get_type_hints

from openmsmq.app_server.proxy import OpenQueue, SessionProxy
from openmsmq.engine.handle import QueueHandle
from openmsmq.service.proxied_queue import ProxiedQueue
from openmsmq.service.read_proxy import ProxiedReads


def _members(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")} | set(get_type_hints(kind))


def test_both_kinds_of_open_queues_have_what_sessions_use() -> None:
    wanted = {name for name in vars(OpenQueue) if not name.startswith("_")}
    assert wanted <= _members(QueueHandle) | {"name", "mode", "queue"}
    assert wanted <= _members(ProxiedQueue) | {"name", "mode", "queue"}
    assert {name for name in vars(SessionProxy) if name[0] != "_"} <= _members(ProxiedReads)
