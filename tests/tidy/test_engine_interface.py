"""Each layer above the engine uses a named part of it, which docs/architecture.md explains."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from tests.tidy.source import Source, sources

STATE = {"identity", "name", "settings", "snapshot", "statistics", "timeline"}
"What every layer may read."
USED = {
    "transports": STATE
    | {"arrivals", "confirmations", "dispatcher", "transports"}  # messages in, out, and confirmed
    | {"acknowledgements", "incoming", "numbers", "peers"}  # what commits with these messages
    | {"queues", "resolver"}  # whose name it is
    | {"directory", "on_topology", "routes"}  # which manager has a queue, and which is next
    | {"insert_own", "next_message_id", "submit", "together"},
    "app_server": {"identity", "name", "resolver"}
    | {"change_queue", "create_queue", "delete_queue", "open_queue", "pause", "resume", "retry"}
    | {"audit", "audit_entries", "permissions", "set_permissions", "visible_settings"}
    | {"abandoned", "abandon", "abort", "abort_prepared", "begin", "commit", "commit_epoch"}
    | {"commit_prepared", "is_prepared", "may_end_prepared", "prepare", "prepared_ages", "units"}
    | {"configure", "counts", "explain", "redirect", "reservations"}
    | {"directory", "routes"},  # what messages are routed by
    "interfaces": {
        "abandon",
        "abort",
        "begin",
        "commit",
        "identity",
        "name",
        "open_queue",
        "resolver",
        "takes_letters",
    }
    | {"audit", "bring_online", "pause", "resend", "resume", "take_offline", "tidy"}
    | {"directory", "queues", "routes", "transports"}  # what management is asked for
    | {"change_queue", "create_queue", "delete_queue", "find_queue", "permissions"}
    | {"set_permissions", "settings", "timeline"},  # what dependent clients do and see
    "runtime": {"break_off", "finish_commit", "refuse", "retreat", "start_commit", "store"}
    | {"is_committing", "next_deadline", "operations_waiting", "stop", "wants_commit"}
    | {"advance", "is_rescheduled", "operations", "timeline"}
    | {"cancel_everywhere", "settings"},
    "service": STATE
    | {"audit", "dispatcher", "encryptor", "examiner", "is_hardened", "resolver", "state", "clock"}
    | {"express_size", "history", "is_throttled", "prepared", "queues", "reservations"}  # metrics
    | {"directory", "routes", "total_size", "transports"},
}
MANAGERS = {"core", "local", "manager", "_core", "_local", "_manager"}
"What variables and attributes are called that hold the queue manager."


def uses(found: Iterable[Source]) -> set[str]:
    """The attributes of the queue manager that some modules use."""
    return {
        node.attr
        for source in found
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and _name(node.value) in MANAGERS
    }


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("part", USED)
def test_a_layer_uses_only_its_part_of_the_engine(part: str) -> None:
    found = uses(source for source in sources() if source.part == part)
    assert found - USED[part] == set(), "use what the layer has, or explain it in architecture.md"
    assert USED[part] - found == set(), "remove from USED"


def test_a_use_is_found() -> None:
    text = "self._core.peers.knows(x)\nlocal.begin()\nother.thing()"
    assert uses([Source("transports.x", text)]) == {"peers", "begin"}
