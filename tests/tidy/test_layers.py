"""A module imports from its own folder and from lower layers, never sideways or up."""

from __future__ import annotations

import pytest

from tests.tidy.source import PACKAGE, Source, sources

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"limits"}),
    frozenset({"clock", "process", "net", "assets", "toml"}),
    frozenset({"wire"}),
    frozenset({"names", "properties"}),
    frozenset({"security"}),
    frozenset({"packet", "bodies", "routing"}),
    frozenset({"types", "soap"}),
    frozenset({"app_protocol"}),
    frozenset({"engine"}),
    frozenset({"store"}),
    frozenset({"runtime"}),
    frozenset({"capture", "access", "rpc"}),
    frozenset({"transports"}),
    frozenset({"directory", "interfaces", "app_server"}),
    frozenset({"service"}),
    frozenset({"client"}),
    frozenset({"aio"}),
    frozenset({"console", "spark", "adapters"}),
    frozenset({"pipelines"}),
    frozenset({"demo"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
RANKS = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}

EXCEPTIONS = {
    "transports.mqqb.listener": "service",
    "app_server.context": "service",
    "app_server.listener": "service",
    "app_server.server": "service",
    "console.rest.pipeline_calls": "pipelines",
    "service.proxied_queue": "client",
    "service.read_proxy": "client",
    "service.supported_queues": "client",
}
"""Modules that know of one layer above theirs: those that are given their settings by it, and those
that read other managers with the client of remote read, and the list of pipelines in the console.
"""


def layer_faults(source: Source) -> list[str]:
    """The imports of `source` that its layer does not allow."""
    faults = []
    for imported in source.imports():
        package, _, rest = imported.partition(".")
        part = rest.partition(".")[0]
        if package != PACKAGE or not part or part == source.part or part not in RANKS:
            continue
        if RANKS[part] >= RANKS[source.part] and EXCEPTIONS.get(source.name) != part:
            faults.append(f"{source.name} may not import {imported}")
    return faults


def test_every_part_has_its_layer() -> None:
    parts = {source.part for source in sources() if source.part}
    assert parts <= RANKS.keys()


def test_imports_point_down() -> None:
    assert [fault for source in sources() if source.part for fault in layer_faults(source)] == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("wire.reader", "from openmsmq.names.path import PathName", "up"),
        ("packet.user", "from openmsmq.bodies.body import Body", "sideways"),
        ("names.path", "def late():\n    import openmsmq.packet.view", "up, inside a function"),
    ],
)
def test_a_broken_layer_is_found(name: str, text: str, fault: str) -> None:
    assert layer_faults(Source(name, text)), fault


def test_downward_and_own_imports_are_fine() -> None:
    text = "from openmsmq.packet.view import PacketView\nfrom openmsmq import limits\nimport struct"
    assert layer_faults(Source("packet.user", text)) == []
