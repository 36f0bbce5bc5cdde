"""What a service says about routing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.app_protocol.test_topology import TEXT
from tests.unit.app_server.machines import Desk

from openmsmq.app_protocol.members import Members
from openmsmq.client.payloads import topology_info
from openmsmq.routing.file import read_topology


def shown_as_json() -> dict[str, Any]:
    """The example as a service answers."""
    desk = Desk(Path())
    anna = desk.welcome()
    anna.call("configure", topology=TEXT)
    found: dict[str, Any] = anna.call("topology")["topology"]
    return found


def test_a_topology_comes_to_a_program_as_it_is(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    anna = desk.welcome()
    assert anna.call("topology")["topology"]["source"] == "none"
    anna.call("configure", topology=TEXT)
    shown = topology_info(Members(anna.call("topology")["topology"]))
    assert (shown.source, shown.directory) == ("file", "none")
    assert shown.topology() == read_topology(TEXT)


@pytest.mark.parametrize(("is_offline", "word"), [(True, "offline"), (False, "online")])
def test_whether_the_directory_answers(tmp_path: Path, is_offline: bool, word: str) -> None:
    desk = Desk(tmp_path)
    directory = desk.local.directory
    directory.is_used, directory.is_offline = True, is_offline
    assert desk.welcome().call("topology")["topology"]["directory"] == word


def test_what_the_directory_says_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    """Sites and links that no file has; objects that cannot be used are among the findings."""
    desk = Desk(tmp_path)
    directory = desk.local.directory
    directory.is_used, directory.is_offline = True, False
    directory.problems = ("CN=msmq,CN=PL-GATE: mSMQQuota: no number",)
    desk.local.route_by(read_topology(TEXT))
    shown = topology_info(Members(desk.welcome().call("topology")["topology"]))
    assert (shown.source, shown.directory) == ("directory", "online")
    assert shown.topology() == read_topology(TEXT)
    assert shown.findings[-1] == directory.problems[0]
