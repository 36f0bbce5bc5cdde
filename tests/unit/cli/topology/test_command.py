"""`openmsmq topology`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli, ServiceCli
from tests.unit.cli.test_outgoing import CONNECTED
from tests.unit.routing.test_file import GOOD

from openmsmq.engine.manager import QueueManager
from openmsmq.routing.file import read_topology

THREE = """\
[[sites]]
name = "shop"
[[sites]]
name = "hub"
[[sites]]
name = "hq"
[[links]]
site1 = "shop"
site2 = "hub"
cost = 2
gates = ["shop-gate", "hub-gate"]
[[links]]
site1 = "hub"
site2 = "hq"
cost = 3
gates = ["hub-gate", "hq-gate"]
[[managers]]
name = "till"
id = "00000002-0000-4000-8000-000000000001"
sites = ["shop"]
[[managers]]
name = "shop-gate"
id = "00000002-0000-4000-8000-000000000002"
sites = ["shop"]
router = true
[[managers]]
name = "hub-gate"
id = "00000002-0000-4000-8000-000000000003"
sites = ["hub"]
router = true
[[managers]]
name = "hq-gate"
id = "00000002-0000-4000-8000-000000000004"
sites = ["hq"]
router = true
address = "10.0.0.1:1801"
"""


def ok(cli: Cli, *arguments: str) -> str:
    """What a command prints that succeeds."""
    return cli(*arguments).stdout


def fails(cli: Cli, code: int, *arguments: str) -> str:
    """What a command says that fails."""
    return cli(*arguments, code=code).output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "three.toml"
    path.write_text(THREE)
    return path


def test_a_file_is_applied_and_shown(cli: Cli, file: Path) -> None:
    """MQBR-175."""
    assert ok(cli, "topology", "apply", str(file)) == "applied: 3 sites, 2 links, 4 managers\n"
    shown = ok(cli, "topology", "show")
    assert "shop - hub" in shown
    assert "10.0.0.1:1801" in shown
    document = json.loads(ok(cli, "topology", "show", "--json"))
    assert [link["cost"] for link in document["links"]] == [2, 3]
    assert document["findings"] == []


def test_a_wrong_file_changes_nothing(cli: Cli, file: Path) -> None:
    ok(cli, "topology", "apply", str(file))
    before = ok(cli, "topology", "show")
    file.write_text(THREE.replace("cost = 3", "cost = 3000000"))
    error = fails(cli, 2, "topology", "apply", str(file))
    assert "line 15: cost: a whole number from 1 to 999999 is needed, not 3000000" in error
    assert ok(cli, "topology", "show") == before


def test_a_manager_without_a_topology_says_so(cli: Cli, file: Path) -> None:
    ok(cli, "topology", "apply", str(file))
    file.write_text("")
    ok(cli, "topology", "apply", str(file))
    assert "openmsmq topology apply FILE" in fails(cli, 1, "topology", "show")


def test_the_route_of_a_message_is_shown_with_its_rules(cli: Cli, file: Path) -> None:
    """MQBR-174."""
    shown = ok(cli, "topology", "route", "till", "HQ-gate", "--file", str(file))
    assert "delivered: till -> shop-gate -> hub-gate -> hq-gate; 2 routers on the way" in shown
    assert "routing server of the site" in shown
    arguments = ("topology", "route", "till", "hq-gate", "--file", str(file), "--json")
    document = json.loads(ok(cli, *arguments))
    assert document["path"] == ["till", "shop-gate", "hub-gate", "hq-gate"]
    assert document["steps"][1]["rule"] == "gate of the next site"


def test_what_is_down_is_taken_into_account_and_drawn(cli: Cli, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "route.svg"
    arguments = ("topology", "route", "till", "hq-gate", "--file", str(file))
    fails(cli, 1, *arguments, "--cut", "hub,hq", "--svg", str(picture))
    assert 'class="link cut"' in picture.read_text()
    fails(cli, 1, *arguments, "--down", "hub-gate")
    assert "there is no manager no-one" in fails(cli, 2, *arguments, "--down", "no-one")
    assert "two sites are needed" in fails(cli, 2, *arguments, "--cut", "hub")


def test_findings_are_notes(cli: Cli, file: Path) -> None:
    file.write_text(THREE.replace('gates = ["shop-gate", "hub-gate"]\n', ""))
    document = json.loads(ok(cli, "topology", "apply", str(file), "--json"))
    assert document["findings"] == ["shop has links but no gate: messages cannot leave it"]


def test_roles_and_servers_are_shown(cli: Cli, file: Path) -> None:
    file.write_text(GOOD)
    shown = ok(cli, "topology", "show", "--file", str(file), "--svg", str(file.with_suffix(".svg")))
    assert "out hq-gate" in shown
    assert file.with_suffix(".svg").read_text().startswith("<svg")


def test_a_service_shows_what_its_directory_says(served: ServiceCli) -> None:
    """No file was applied: the topology is the one that was read from the directory."""

    def answered(local: QueueManager) -> None:
        local.directory.is_used, local.directory.is_offline = True, False
        local.route_by(read_topology(THREE))

    def lost(local: QueueManager) -> None:
        local.directory.is_offline = True
        local.directory.problems = ("no domain controller answers: it is gone",)

    assert "once it has answered" in fails(served, 1, "topology", "show")
    served.service.call(answered)
    document = json.loads(ok(served, "topology", "show", "--json"))
    assert document["source"] == "directory"
    assert [one["name"] for one in document["managers"]][-1] == "hq-gate"
    way = json.loads(ok(served, "topology", "route", "till", "hq-gate", "--json"))
    assert way["path"] == ["till", "shop-gate", "hub-gate", "hq-gate"]
    served.service.call(lost)
    assert "no domain controller answers" in served("topology", "show").output
    assert "no domain controller answers" in fails(served, 1, "doctor")


def test_a_service_shows_whom_it_cannot_reach(
    served: ServiceCli, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    ok(served, "topology", "apply", str(file))
    waiting = replace(
        CONNECTED, messages=2, next_hop="10.0.0.1:1801", failures=3, last_error="refused"
    )
    monkeypatch.setattr("openmsmq.Manager.outgoing", lambda _: [waiting])
    shown = served("topology", "show").output
    note = f"10.0.0.1:1801 cannot be reached: refused; 2 messages for {waiting.name} waiting"
    assert note in shown
    assert note in served("topology", "route", "till", "hq-gate").output
