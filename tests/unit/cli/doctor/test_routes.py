"""What doctor says of routes and connectors."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import openmsmq
from openmsmq.cli.doctor.findings import check_up
from openmsmq.cli.doctor.routes import topology_risks
from openmsmq.cli.options import ManagerLocation

SITE, SYSTEM, OTHER = (UUID(int=number) for number in (0x20, 0x21, 0x22))
TOPOLOGY = """
sites = [{{name = "hq"}}, {{name = "mainframe", id = "{site}", foreign = true}}]
links = [{{site1 = "hq", site2 = "mainframe", gates = [{gates}]}}]
managers = [
    {{name = "gateway", id = "{own}", sites = ["hq", "mainframe"], router = true}},
    {{name = "MAINFRAME", id = "{system}", sites = ["mainframe"], foreign = true}},
]
"""


def topology(own: object, gates: str = '"gateway"') -> str:
    return TOPOLOGY.format(site=SITE, system=SYSTEM, own=own, gates=gates)


def test_what_is_wrong_with_the_topology_is_said() -> None:
    assert list(topology_risks("", str(OTHER))) == []
    assert list(topology_risks(topology(OTHER), str(OTHER))) == []
    [stranger] = topology_risks(topology(OTHER), str(SYSTEM).replace("21", "29"))
    assert "is not in it" in stranger.text
    without = [risk.text for risk in topology_risks(topology(OTHER, ""), str(OTHER))]
    assert any("has links but no gate" in text for text in without)


def test_a_connector_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        manager.configure(topology=topology(manager.id))
        manager.open_queue(rf"PRIVATE={SYSTEM}\5").send("1")
    found = [one for one in check_up(ManagerLocation(directory=tmp_path)) if one.needs_attention]
    assert [(one.subject, "wait for a connector" in one.text) for one in found] == [
        (f"CONNECTOR={SITE}", True)
    ]
