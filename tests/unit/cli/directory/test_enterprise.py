"""Sites, links and settings of the enterprise, against an LDAP server in a thread."""

from __future__ import annotations

from typing import Any

import pytest
from tests.directories import BASE
from tests.unit.cli.directory.conftest import Directory


def of_kind(directory: Directory, kind: str) -> list[dict[str, Any]]:
    return [item for item in directory.objects("show") if item["kind"] == kind]


def site_id(directory: Directory, name: str) -> str:
    (found,) = [item["id"] for item in of_kind(directory, "site") if item["name"] == name]
    return str(found)


def test_a_foreign_site_is_made_linked_and_deleted(directory: Directory) -> None:
    """MQDS-053, MQDS-134, MQDS-136, MQDS-138"""
    assert "mainframe is" in directory("create-foreign-site", "mainframe").stdout
    (made,) = [item for item in of_kind(directory, "site") if item["name"] == "mainframe"]
    assert (made["foreign"], made["path"]) == (
        True,
        f"CN=mainframe,CN=Sites,CN=Configuration,{BASE}",
    )
    given = ("--cost", "7", "--gate", "HQ-GATE", "--description", "short")
    (link,) = directory.objects("create-link", "HQ", "mainframe", *given)
    (kept,) = [item for item in of_kind(directory, "link") if item["id"] == link["id"]]
    assert (kept["cost"], kept["description"], len(kept["gates"])) == (7, "short", 1)
    name = f"CN={site_id(directory, 'HQ')}{made['id']}".replace("-", "")
    assert kept["path"].startswith(f"{name},CN=MsmqServices,")
    assert "linked already" in directory("create-link", "mainframe", "HQ", code=1).output
    assert "1 link" in directory("delete-foreign-site", "mainframe", code=1).output

    directory("set-link", "mainframe", "HQ", "--cost", "9", "--no-gates")  # in any order
    (kept,) = [item for item in of_kind(directory, "link") if item["id"] == link["id"]]
    assert (kept["cost"], kept["gates"], kept["description"]) == (9, [], "short")
    directory("delete-link", "mainframe", "HQ")
    assert len(of_kind(directory, "link")) == 3
    assert "not linked" in directory("delete-link", "mainframe", "HQ", code=1).output
    directory("delete-foreign-site", "mainframe")
    assert "mainframe" not in [item["name"] for item in of_kind(directory, "site")]
    assert "no foreign site" in directory("delete-foreign-site", "HQ", code=1).output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create-link", "HQ", "Mars"), 1, "no site Mars"),
        (("create-link", "HQ", "HQ"), 2, "two different sites"),
        (("create-link", "HQ", "Plant", "--cost", "0"), 2, "1<=x<=999999"),
        (("create-link", "HQ", "Plant", "--cost", "1000000"), 2, "1<=x<=999999"),
        (("set-link", "HQ", "Plant"), 2, "what is to change"),
        (("set-link", "HQ", "Plant", "--gate", "HQ-GATE", "--no-gates"), 2, "not both"),
        (("set-link", "HQ", "Plant", "--gate", "other"), 1, "no computer other"),
        (("set-enterprise",), 2, "what is to change"),
    ],
)
def test_what_is_refused(
    directory: Directory, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """MQDS-135, MQDS-137, DMPR-101: a cost is refused before the directory is asked."""
    assert words in directory(*arguments, code=code).output
    assert len(of_kind(directory, "link")) == 3


def test_settings_of_the_enterprise(directory: Directory) -> None:
    """MQDS-126"""
    turned_on = ("--weakened-security", "--no-notify-old", "--no-mixed")
    directory("set-enterprise", "--time-to-reach-queue", "60", *turned_on)
    (found,) = of_kind(directory, "enterprise")
    names = ("time_to_live", "weakened_security", "notification", "directory_version")
    assert [found[name] for name in names] == [60, True, "N", 200]
    assert "60 s" in directory("show").stdout
    directory("set-enterprise", "--mixed", "--notify-old")
    (found,) = of_kind(directory, "enterprise")
    assert [found[name] for name in names] == [60, True, "Y", 3]
