"""What a service shows of a topology."""

from __future__ import annotations

from uuid import UUID

from openmsmq.app_protocol.topology import topology_info
from openmsmq.routing.file import read_topology

TEXT = """
sites = [{name = "west"}, {name = "east"}, {name = "mainframe", foreign = true}]
links = [{site1 = "west", site2 = "east", cost = 7, gates = ["w", "e"]}]
[[managers]]
name = "w"
id = "00000000-0000-0000-0000-000000000001"
sites = ["west"]
router = true
[[managers]]
name = "e"
id = "00000000-0000-0000-0000-000000000002"
sites = ["east"]
router = true
address = "10.0.0.2"
[[managers]]
name = "till"
id = "00000000-0000-0000-0000-000000000003"
sites = ["west"]
out = ["w"]
in = ["w"]
"""


def test_a_topology_is_the_same_behind_what_is_shown() -> None:
    found = read_topology(TEXT)
    shown = topology_info(found, "file", "none")
    assert (shown.source, shown.directory) == ("file", "none")
    assert shown.topology() == found
    assert [link.gates for link in shown.links] == [(UUID(int=1), UUID(int=2))]


def test_without_sites_there_is_no_source() -> None:
    assert topology_info(read_topology(""), "directory", "offline").source == "none"
