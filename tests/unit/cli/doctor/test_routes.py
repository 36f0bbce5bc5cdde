"""What doctor says of routes and connectors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import openmsmq
from openmsmq.app_protocol.topology import topology_info
from openmsmq.cli.doctor.findings import check_up
from openmsmq.cli.doctor.routes import routing_risks, topology_risks
from openmsmq.cli.options import ManagerLocation
from openmsmq.routing.file import read_topology
from openmsmq.routing.findings import findings

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


def risks(text: str, own: object, source: str = "file") -> list[str]:
    found = read_topology(text)
    return [" ".join(risk) for risk in topology_risks(found, findings(found), str(own), source)]


def test_what_is_wrong_with_the_topology_is_said() -> None:
    assert risks("", OTHER) == []
    assert risks(topology(OTHER), OTHER) == []
    stranger = str(SYSTEM).replace("21", "29")
    for source, command in (("file", "topology apply"), ("directory", "directory join")):
        [found] = risks(topology(OTHER), stranger, source)
        assert "is not in it" in found
        assert command in found
    without = risks(topology(OTHER, ""), OTHER)
    assert any("has links but no gate" in text for text in without)


def test_what_is_wrong_with_the_directory_of_a_service_is_said() -> None:
    """What it routes by counts, wherever it has it from, and objects that cannot be used."""
    reason = "no domain controller answers, what was read last is in use: it is gone"
    text = topology(OTHER, "")
    info = topology_info(read_topology(text), "directory", "offline", [reason])
    control = SimpleNamespace(topology=lambda: info)
    service = SimpleNamespace(control=control, id=str(SYSTEM).replace("21", "29"))
    found = [risk.text for risk in routing_risks(service)]  # type: ignore[arg-type]
    assert "is not in it" in found[0]
    assert any("has links but no gate" in text for text in found)
    assert found[-1] == reason


def test_a_connector_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        manager.configure(topology=topology(manager.id))
        manager.open_queue(rf"PRIVATE={SYSTEM}\5").send("1")
    found = [one for one in check_up(ManagerLocation(directory=tmp_path)) if one.needs_attention]
    assert [(one.subject, "wait for a connector" in one.text) for one in found] == [
        (f"CONNECTOR={SITE}", True)
    ]
