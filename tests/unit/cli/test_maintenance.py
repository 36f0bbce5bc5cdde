"""`openmsmq backup`, `restore`, `check` and `compact`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli

import openmsmq.store.check.check as checking
from openmsmq.cli.later import Later
from openmsmq.cli.main import main
from openmsmq.engine.storage.layout import packet_key
from openmsmq.engine.storage.tables import Table
from openmsmq.store.lmdb import LmdbStore

BODIES = [b"one", b"two", b"three"]


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """A manager with messages."""
    cli.fill("orders", *BODIES)
    return cli


def spoil(directory: Path, count: int = 1) -> None:
    """Put packets into a store that belong to no message."""
    with closing(LmdbStore.open(directory)) as store:
        rows = [(packet_key((1 << 40) + number, 0), b"x") for number in range(count)]
        store.begin().put_many(Table.PACKETS, rows)
        store.commit()


@pytest.mark.parametrize("name", ["backup", "check", "compact", "restore"])
def test_examples_stand_on_their_own_lines(cli: Cli, name: str) -> None:
    lines = cli.lines(name, "--help")
    assert "  Examples:" in lines
    assert any(line.startswith(f"    openmsmq {name} ") for line in lines)
    assert isinstance(main.commands[name], Later)


def test_a_backup_is_made_and_put_back(filled: Cli, tmp_path: Path) -> None:
    [line] = filled.lines("backup", str(tmp_path / "copy"))
    assert line.startswith("backed up 3 messages of 1 queue, ")
    assert line.endswith(f" KiB, to {tmp_path / 'copy'}")
    other = Cli(tmp_path / "other")
    assert other.lines("restore", str(tmp_path / "copy")) == [
        f"restored 3 messages of 1 queue to {tmp_path / 'other'}"
    ]
    assert other.bodies("orders") == BODIES


def test_programs_get_objects(filled: Cli, tmp_path: Path) -> None:
    place = str(tmp_path / "copy")
    [made] = filled.objects("backup", place)
    assert (made["backup"], made["queues"], made["messages"]) == (place, 1, 3)
    [done] = filled.objects("restore", place, "--force")
    assert done["identity"] == made["identity"]
    assert done["directory"] == str(filled.directory)
    assert Path(done["replaced"]).exists()
    assert done["backup"] == {name: made[name] for name in made if name != "backup"}
    [twin] = Cli(tmp_path / "twin").objects("restore", place, "--new-identity")
    assert twin["identity"] != made["identity"]
    assert twin["replaced"] is None
    [checked] = filled.objects("check")
    assert (checked["whole"], checked["messages"], checked["findings"]) == (True, 3, [])
    [compacted] = filled.objects("compact")
    assert 0 < compacted["size"] <= compacted["size_before"]


def test_a_store_is_replaced_only_by_force(filled: Cli, tmp_path: Path) -> None:
    filled("backup", str(tmp_path / "copy"))
    refused = filled("restore", str(tmp_path / "copy"), code=1)
    assert refused.stdout == ""
    assert refused.stderr.startswith("openmsmq: StoreExists (0xC00E002A): ")
    first, second = filled.lines("restore", str(tmp_path / "copy"), "--force")
    assert first.startswith("restored 3 messages")
    kept = second.removeprefix("what was there before is ")
    assert Path(kept).parent == filled.directory
    assert Path(kept).exists()


def test_what_cannot_be_done_says_why(filled: Cli, tmp_path: Path) -> None:
    refused = filled("backup", str(filled.directory), code=1)
    assert "StoreExists (0xC00E002A)" in refused.stderr
    refused = Cli(tmp_path / "none")("backup", str(tmp_path / "copy"), code=1)
    assert "StoreMissing (0xC00E002A)" in refused.stderr
    refused = filled("restore", str(tmp_path / "nothing"), code=1)
    assert "BackupDamaged (0xC00E002A)" in refused.stderr
    with filled.open():
        for command in ("check", "compact"):
            refused = filled(command, code=1)
            assert refused.stderr.startswith("openmsmq: StoreInUse (0xC00E0009): ")


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_place_must_be_given(filled: Cli, command: str) -> None:
    assert "Missing argument" in filled(command, code=2).stderr


def test_a_check_says_how_much_is_whole(filled: Cli) -> None:
    [line] = filled.lines("check")
    assert line.startswith("whole: 3 messages of 1 queue, ")


def test_a_check_says_what_is_wrong(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(filled.directory)
    done = filled("check", code=1)
    assert done.stdout == "Packet 1099511627776 of 1 bytes belongs to no message.\n"
    assert done.stderr.startswith("openmsmq: StoreDamaged (0xC00E002A): ")
    assert f"{filled.directory}, 1 finding." in done.stderr
    [found] = filled.objects("check", code=1)
    assert not found["whole"]
    assert found["findings"] == ["Packet 1099511627776 of 1 bytes belongs to no message."]
    spoil(filled.directory, 7)
    monkeypatch.setattr(checking, "FINDINGS_MAX", 2)
    done = filled("check", code=1)
    assert done.stdout.splitlines()[-1] == "and 5 more"
    assert "7 findings." in done.stderr


def test_compaction_tells_both_sizes(filled: Cli) -> None:
    with filled.open() as manager:
        queue = manager.open_queue("orders")
        for _ in range(3):
            queue.send_many([bytes(4000)] * 200)
            queue.receive_many(1000, timeout=0)
    [line] = filled.lines("compact")
    assert line.startswith("compacted from ")
    assert " MiB to " in line
    assert line.endswith(" KiB")


@pytest.mark.usefixtures("terminal")
def test_a_person_sees_how_far_it_is(filled: Cli, tmp_path: Path) -> None:
    done = filled("backup", str(tmp_path / "copy"))
    for word in ("copying", "checking pages", "100%"):
        assert word in done.stderr
    assert done.stdout.startswith("backed up ")
    assert filled("backup", str(tmp_path / "other"), "--json").stderr == ""
