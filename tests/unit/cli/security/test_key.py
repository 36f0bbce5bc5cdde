"""`openmsmq key`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.access.exchange_keys import OwnKeys, PeerKeyFile

pytest.importorskip("cryptography")
ID = "5b1d9c3e-54f5-4d0a-9c3b-0a1b2c3d4e5f"


def test_keys_are_made_exported_and_imported(cli: Cli, tmp_path: Path) -> None:
    assert "no key" in cli("key", "export", "--id", ID, code=1).stderr
    assert "aes, 1024 bits" in cli("key", "create", "--bits", "1024").stdout
    exported = cli("key", "export", "--id", ID, "--name", "there").stdout
    assert "PRIVATE" not in exported
    file = tmp_path / "there.keys"
    file.write_text(exported)
    other = Cli(tmp_path / "other")
    assert other("key", "import", str(file)).stdout == "imported the keys of there\n"
    [entry] = PeerKeyFile(other.directory)
    assert entry.decoded() == OwnKeys(cli.directory).published()
    [shown] = other.objects("key", "list")
    assert (shown["manager"], shown["name"]) == (ID, "there")
    assert other("key", "forget", "THERE").stdout == "forgot the keys of there\n"
    assert other.lines("key", "list") == []


def test_a_key_that_was_replaced_is_listed(cli: Cli) -> None:
    first, second = (cli.objects("key", "create", "--bits", "1024")[0]["id"][:8] for _ in range(2))
    _, old, new = cli.lines("key", "list")
    assert (old.split()[0], new.split()[0]) == (first, second)
    assert "retired" in old
    assert new.endswith("in use")


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"manager": ID, "keys": "00"})])
def test_a_file_without_keys_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.keys"
    file.write_text(text)
    assert "InvalidParameter" in cli("key", "import", str(file), code=1).stderr
