"""The map of the code names every folder, in plain words, and promises nothing that exists."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tools.generate_architecture import PACKAGE, WALKS, folders, summary
from tools.generate_docs import CHECKLISTS, reasons

from tests.tidy.exceptions import PARTS_PENDING
from tests.tidy.test_words import SEARCHED

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
PARTS: Mapping[str, str] = {
    "routing": "routing",
    "directory": "directory",
    "management over remote calls": "interfaces/management",
    "remote management": "interfaces/management",
    "remote calls": "interfaces",
    "remote reading": "interfaces/remote_read",
    "over HTTP": "transports/srmp",
    "multicast": "transports/pgm",
    "network protocols that it shuts out": "interfaces",
    "older remote read": "interfaces/qm2qm",
    "supporting server": "interfaces/supporting",
    "ncryption": "security",
    "igning": "security",
    "access check": "security",
}
"What a `not yet` may wait for, and the folder that it will be in."


def stale(reason: str, package: Path = PACKAGE) -> list[str]:
    """The parts that a reason says are missing although their folders exist."""
    named = [part for part in PARTS if part in reason]
    inner = [part for part in named if not any(part != o and part in o for o in named)]
    return [
        part
        for part in inner
        if (package / PARTS[part]).exists() and PARTS[part] not in PARTS_PENDING
    ]


@pytest.mark.parametrize("folder", folders(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_folder_says_in_plain_words_what_it_holds(folder: Path) -> None:
    text = summary(folder)
    assert text.endswith(".")
    assert len(text) >= 30, "say what the modules of the folder do"
    assert not SEARCHED.findall(text)
    assert f"`{folder.relative_to(PACKAGE)}/`" in PAGE


def test_walks_pass_folders_that_exist() -> None:
    named = {lane for _, lanes, _ in WALKS.values() for lane, _ in lanes if "/" in lane}
    assert [lane for lane in sorted(named) if not (PACKAGE / lane).is_dir()] == []


@pytest.mark.parametrize("name", CHECKLISTS)
def test_not_yet_names_no_part_that_exists(name: str) -> None:
    for number, reason in reasons(name).items():
        if reason.state == "not yet":
            assert stale(reason.text) == [], f"{number}: the part exists; what is missing?"


def test_a_stale_not_yet_is_found(tmp_path: Path) -> None:
    (tmp_path / "routing").mkdir()
    assert stale("routing is not built", tmp_path) == ["routing"]
    assert stale("the directory is not built", tmp_path) == []
