"""`openmsmq peer`."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.cli.options import ManagerLocation
from openmsmq.types.peers import PeerInfo

BANK = PeerInfo(
    id=UUID(int=7),
    names=("bank", "10.0.0.7"),
    address="10.0.0.7",
    port=1801,
    pinned=True,
    relay=True,
    sessions=("10.0.0.7",),
    claimed_from=("10.0.0.7", "10.0.0.8"),
    missing=3,
)
CALLER = replace(
    BANK,
    id=UUID(int=8),
    names=(),
    address="",
    port=0,
    pinned=False,
    relay=False,
    claimed_from=(),
    missing=0,
)


class Manager:
    """A queue manager as it would be."""

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def peers(self) -> list[PeerInfo]:
        return [BANK, CALLER]


@pytest.fixture
def cli(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setattr(ManagerLocation, "open", lambda self: Manager())
    return cli


def test_peers_are_listed_with_what_is_known_of_them(cli: Cli) -> None:
    header, bank, caller = cli("peer", "list").stdout.splitlines()
    assert header.split() == ["ID", "NAMES", "ADDRESS", "SESSIONS", "FROM", "NOTES"]
    assert bank.startswith(str(BANK.id))
    for words in ("bank, 10.0.0.7", "10.0.0.7:1801", "pinned; relay", "3 numbers missing"):
        assert words in bank
    assert "claimed from 10.0.0.7, 10.0.0.8" in bank
    assert caller.split() == [str(CALLER.id), "10.0.0.7"]


def test_programs_get_all_of_it(cli: Cli) -> None:
    first, _ = map(json.loads, cli("peer", "list", "--json").stdout.splitlines())
    assert first["id"] == str(BANK.id)
    assert first["claimed_from"] == list(BANK.claimed_from)
    assert set(first) == set(PeerInfo.__dataclass_fields__)
