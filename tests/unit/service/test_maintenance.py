"""Backups are whole or not there, and what is restored never repeats a number."""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.store import children

import openmsmq
from openmsmq import Message
from openmsmq.engine.commit.number_reservation import ARRIVAL_KEY, MESSAGE_ID_KEY
from openmsmq.engine.commit.queue_counts import QUEUE_NUMBER_KEY
from openmsmq.engine.storage.layout import COUNTERS_ROW, queue_key
from openmsmq.engine.storage.recovery import IDENTITY_KEY, QUEUES_SKIPPED
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    BackupDamaged,
    StorageFailed,
    StorageFull,
    StoreDamaged,
    StoreExists,
    StoreInUse,
    StoreMissing,
    StoreTooNew,
)
from openmsmq.service import maintenance
from openmsmq.service.maintenance import backup, check, compact, read_backup, restore
from openmsmq.store import copy as copying
from openmsmq.store.format import FORMAT, FORMAT_KEY
from openmsmq.store.lmdb import LmdbStore

LABELS = [f"order {number}" for number in range(20)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A store with messages, not open."""
    place = tmp_path / "data"
    with openmsmq.open(place) as manager:
        manager.create_queue("orders").send_many([Message(b"x", label=text) for text in LABELS])
        manager.create_queue("empty")
    return place


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    """A backup of it."""
    backup(data, tmp_path / "copy")
    return tmp_path / "copy"


def labels(directory: Path) -> list[str]:
    """The messages in a store."""
    with openmsmq.open(directory) as manager:
        found = manager.open_queue("orders").peek_many(1000, timeout=0)
    return [message.label for message in found]


def meta(directory: Path, key: bytes) -> int:
    with closing(LmdbStore.open(directory)) as store:
        return int.from_bytes(store.snapshot.get(Table.META, key) or b"", "little")


def identity(directory: Path) -> UUID:
    with closing(LmdbStore.open(directory)) as store:
        return UUID(bytes=store.snapshot.get(Table.META, IDENTITY_KEY))


# Backups


def test_a_backup_says_what_it_is_without_being_opened(data: Path, tmp_path: Path) -> None:
    made = backup(str(data), str(tmp_path / "copy"))
    assert read_backup(tmp_path / "copy") == made
    assert json.loads((tmp_path / "copy" / "backup.json").read_text()) == asdict(made)
    age = datetime.now(UTC) - datetime.fromisoformat(made.time)
    assert timedelta(seconds=-1) <= age < timedelta(minutes=1)
    assert (made.computer, made.directory) == (socket.gethostname(), str(data))
    assert UUID(made.identity) == identity(data)
    assert (made.format, made.queues, made.messages) == (FORMAT, 2, len(LABELS))
    assert made.size == (tmp_path / "copy" / "data.mdb").stat().st_size


def test_queues_of_the_manager_itself_are_not_counted_but_their_messages_are(
    tmp_path: Path,
) -> None:
    with openmsmq.open(tmp_path / "data") as manager:
        queue = manager.create_queue("orders", transactional=True, journal=True)
        with manager.transaction() as transaction:
            queue.send_many([Message(b"x")] * 5, transaction=transaction)
        with manager.transaction() as transaction:
            queue.receive_many(2, timeout=0, transaction=transaction)
        held = manager.transaction("held")
        queue.receive(timeout=0, transaction=held)
        held.prepare()
        queue.purge()  # what is held is noted, and goes later
    made = backup(tmp_path / "data", tmp_path / "copy")
    assert (made.queues, made.messages) == (1, 3)


def test_a_backup_is_for_its_owner_only(copy: Path) -> None:
    assert copy.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in copy.iterdir()) == ["backup.json", "data.mdb"]
    assert {path.stat().st_mode & 0o777 for path in copy.iterdir()} == {0o600}


def test_a_backup_does_not_touch_the_store(data: Path, tmp_path: Path) -> None:
    before = (data / "data.mdb").read_bytes(), (data / "data.mdb").stat().st_mtime_ns
    backup(data, tmp_path / "copy")
    assert ((data / "data.mdb").read_bytes(), (data / "data.mdb").stat().st_mtime_ns) == before


def test_a_store_that_was_never_used_has_no_identity_yet(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path / "data").close()
    made = backup(tmp_path / "data", tmp_path / "copy")
    assert (made.identity, made.queues, made.messages) == ("", 0, 0)
    assert restore(tmp_path / "copy", tmp_path / "back").identity == ""
    assert restore(tmp_path / "copy", tmp_path / "other", new_identity=True).identity
    openmsmq.open(tmp_path / "back").close()


def test_the_destination_may_be_an_empty_directory_or_far_away(data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        backup(data, place)
        assert read_backup(place).messages == len(LABELS)
        assert [path.name for path in place.parent.iterdir() if path.name.startswith(".")] == []


def test_a_relative_destination_is_below_the_working_directory(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    backup("data", "copy")
    assert read_backup("copy").directory == str(data)
    restore("copy", "back")
    assert labels(tmp_path / "back") == LABELS


def test_nothing_that_is_there_is_written_over(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for taken in (place, data, tmp_path / "link"):
        with pytest.raises(StoreExists, match=taken.name):
            backup(data, taken)
    with pytest.raises(StorageFailed, match="Not a directory"):
        backup(data, place / "mine")
    with pytest.raises(StorageFailed, match="mine"):
        backup(data, place / "mine" / "deeper")
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_a_directory_that_fills_meanwhile_stays_as_it_is(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"

    def fill(*_: object) -> None:
        place.mkdir(exist_ok=True)
        (place / "mine").write_text("x")

    with pytest.raises(StoreExists, match="place"):
        backup(data, place, fill)
    assert [path.name for path in place.iterdir()] == ["mine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "place"]


def test_there_must_be_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="nowhere"):
        backup(tmp_path / "nowhere", tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_that_fails_leaves_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    def damaged(*_: object) -> None:
        raise StoreDamaged("a page is wrong")

    with monkeypatch.context() as patched:
        patched.setattr(maintenance, "sync_directory", full)
        with pytest.raises(StorageFull, match="full"):
            backup(data, tmp_path / "copy")
    with monkeypatch.context() as patched:
        patched.setattr(copying, "check_pages", damaged)
        with pytest.raises(StoreDamaged, match="wrong"):
            backup(data, tmp_path / "copy")
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkdtemp", lambda **_: full(tmp_path))
        with pytest.raises(StorageFull, match="full"):
            backup(data, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("table", "key", "row"),
    [
        (Table.META, IDENTITY_KEY, b"short"),
        (Table.QUEUES, queue_key(77), b"{}"),
        (Table.QUEUES, queue_key(77, COUNTERS_ROW), b"short"),
    ],
    ids=["identity", "properties", "counters"],
)
def test_rows_that_no_manager_could_start_with_are_not_backed_up(
    data: Path, tmp_path: Path, table: Table, key: bytes, row: bytes
) -> None:
    with closing(LmdbStore.open(data)) as store:
        store.begin().put(table, key, row)
        store.commit()
    with pytest.raises(StoreDamaged, match="rows that make no sense"):
        backup(data, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_killed_backup_does_not_look_like_one(data: Path, tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from openmsmq.service.maintenance import backup
        def die(what, done, total):
            if what == "checking pages" and done == total:
                os.kill(os.getpid(), signal.SIGKILL)
        backup(sys.argv[1], sys.argv[2], die)
    """
    place = tmp_path / "backups" / "copy"
    with children.start(code, data, place) as child:
        child.communicate(timeout=60)
    [left] = place.parent.iterdir()
    assert left.name.startswith(".copy.")
    with pytest.raises(BackupDamaged, match=r"no backup\.json"):
        restore(left, tmp_path / "back")
    backup(data, place)
    assert len(list(place.parent.iterdir())) == 2


# Restoring


def test_a_backup_comes_back_and_stays_as_it_is(copy: Path, data: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    reported: list[str] = []
    done = restore(copy, tmp_path / "back", progress=lambda what, *_: reported.append(what))
    assert done.backup == read_backup(copy)
    assert (done.directory, done.replaced) == (tmp_path / "back", None)
    assert UUID(done.identity) == identity(data) == identity(tmp_path / "back")
    assert labels(tmp_path / "back") == LABELS
    assert set(reported) == {"copying"}
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert (tmp_path / "back").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "back" / "data.mdb").stat().st_mode & 0o777 == 0o600
    assert check(tmp_path / "back").is_whole


def test_numbers_the_original_gives_out_later_are_not_used_again(
    copy: Path, data: Path, tmp_path: Path
) -> None:
    used: set[str] = set()
    places: set[int] = set()
    for _ in range(50):  # each start reserves numbers
        with openmsmq.open(data) as manager:
            queue = manager.open_queue("orders")
            queue.send(Message(b"original"))
            [*_, last] = queue.receive_many(1000, timeout=0)
            used.add(last.id)
            places.add(last.lookup_id)
    with openmsmq.open(data) as manager:
        numbers = {manager.create_queue(f"new {n}").info().id for n in range(50)}
    restore(copy, tmp_path / "back")
    with openmsmq.open(tmp_path / "back") as manager:
        queue = manager.open_queue("orders")
        queue.send_many([Message(b"copy")] * 1000)
        sent = queue.receive_many(2000, timeout=0)[len(LABELS) :]
        new = manager.create_queue("new")
        assert new.info().id not in numbers
    assert len(sent) == 1000
    assert not used & {message.id for message in sent}
    assert not places & {message.lookup_id for message in sent}
    for key in (ARRIVAL_KEY, MESSAGE_ID_KEY, QUEUE_NUMBER_KEY):
        assert meta(tmp_path / "back", key) > meta(data, key)


def test_the_first_queue_of_a_restored_store_has_no_reserved_number(tmp_path: Path) -> None:
    openmsmq.open(tmp_path / "data").close()
    backup(tmp_path / "data", tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "back")
    with openmsmq.open(tmp_path / "back") as manager:
        manager.create_queue("first")
    assert meta(tmp_path / "back", QUEUE_NUMBER_KEY) == 0x11 + QUEUES_SKIPPED


def test_a_copy_beside_the_original_has_its_own_identity(
    copy: Path, data: Path, tmp_path: Path
) -> None:
    done = restore(copy, tmp_path / "back", new_identity=True)
    assert UUID(done.identity) == identity(tmp_path / "back") != identity(data)
    with openmsmq.open(tmp_path / "back") as manager:
        queue = manager.create_queue("new")
        queue.send(Message(b"x"))
        assert queue.receive(timeout=0).id.lower().startswith(done.identity)


def test_a_store_is_replaced_only_by_force_and_kept_aside(
    copy: Path, data: Path, tmp_path: Path
) -> None:
    with openmsmq.open(data) as manager:
        manager.open_queue("orders").receive_many(15, timeout=0)
    before = (data / "data.mdb").read_bytes()
    with pytest.raises(StoreExists, match="data"):
        restore(copy, data)
    assert (data / "data.mdb").read_bytes() == before
    done = restore(copy, data, force=True)
    assert labels(data) == LABELS
    assert done.replaced is not None
    assert done.replaced.parent == data
    assert done.replaced.read_bytes() == before
    again = restore(copy, data, force=True)
    assert again.replaced != done.replaced
    assert done.replaced.exists()


def test_a_directory_with_other_files_can_take_a_store(copy: Path, tmp_path: Path) -> None:
    place = tmp_path / "back"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    assert restore(copy, place, force=True).replaced is None
    assert (place / "notes.txt").read_text() == "mine"
    assert labels(place) == LABELS


def test_a_store_in_use_cannot_be_replaced(copy: Path, data: Path) -> None:
    with openmsmq.open(data), pytest.raises(StoreInUse, match="process"):
        restore(copy, data, force=True)
    with copying.read_along(data), pytest.raises(StoreInUse, match="backup"):
        restore(copy, data, force=True)
    assert labels(data) == LABELS


def test_every_changed_byte_of_a_backup_is_found(copy: Path, tmp_path: Path) -> None:
    file = copy / "data.mdb"
    whole = file.read_bytes()
    for place in range(0, len(whole), 1999):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BackupDamaged, match=r"not what backup\.json says"):
            restore(copy, tmp_path / "back")
    for damaged in (b"", whole[:-1], whole + b"\0"):
        file.write_bytes(damaged)
        with pytest.raises(BackupDamaged):
            restore(copy, tmp_path / "back")
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["openmsmq.lock"]


@pytest.mark.parametrize(
    "text",
    ["", "no json", "[]", "{}", "null", '{"time": 1}', "\ud800", "[" * 50_000],
    ids=["nothing", "text", "list", "object", "null", "one", "no utf-8", "deep"],
)
def test_a_description_that_is_none_is_refused(copy: Path, tmp_path: Path, text: str) -> None:
    (copy / "backup.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(BackupDamaged, match=r"backup\.json cannot be read"):
        restore(copy, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(("name", "value"), [("messages", "7"), ("sha256", 7), ("size", None)])
def test_a_description_with_a_wrong_value_is_refused(
    copy: Path, tmp_path: Path, name: str, value: object
) -> None:
    said = json.loads((copy / "backup.json").read_text())
    (copy / "backup.json").write_text(json.dumps(said | {name: value}))
    with pytest.raises(BackupDamaged, match=f"{name} has a wrong value"):
        restore(copy, tmp_path / "back")


def test_a_backup_that_lost_a_file_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "data.mdb").rename(tmp_path / "away")
    with pytest.raises(BackupDamaged, match=r"no data\.mdb"):
        restore(copy, tmp_path / "back")
    (copy / "backup.json").unlink()
    with pytest.raises(BackupDamaged, match=r"no backup\.json"):
        restore(copy, tmp_path / "back")
    with pytest.raises(BackupDamaged, match=r"no backup\.json"):
        restore(tmp_path / "nothing", tmp_path / "back")
    (copy / "backup.json").mkdir()
    with pytest.raises(StorageFailed, match="Is a directory"):
        restore(copy, tmp_path / "back")


def describe_again(copy: Path) -> None:
    """Let a backup say of itself what its data file is now."""
    said = json.loads((copy / "backup.json").read_text())
    said["size"] = (copy / "data.mdb").stat().st_size
    (copy / "copy").unlink(missing_ok=True)
    said["sha256"] = copying.copy_file(copy / "data.mdb", copy / "copy").sha256
    (copy / "backup.json").write_text(json.dumps(said))


def test_pages_are_looked_at_even_if_the_digest_is_right(copy: Path, tmp_path: Path) -> None:
    os.truncate(copy / "data.mdb", (copy / "data.mdb").stat().st_size // 2)
    describe_again(copy)
    with pytest.raises(BackupDamaged, match="copy"):
        restore(copy, tmp_path / "back")
    (copy / "data.mdb").write_bytes(b"something else" * 1000)
    describe_again(copy)
    with pytest.raises(BackupDamaged, match="copy"):
        restore(copy, tmp_path / "back")


def test_a_backup_of_a_later_version_is_refused_as_such(copy: Path, tmp_path: Path) -> None:
    with closing(LmdbStore.open(copy)) as store:
        store.begin().put(Table.META, FORMAT_KEY, b"OpenMSMQ 999")
        store.commit()
    describe_again(copy)
    with pytest.raises(StoreTooNew):
        restore(copy, tmp_path / "back")


def test_a_store_that_cannot_be_kept_is_not_replaced(
    copy: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EPERM, "no second names here")

    monkeypatch.setattr(os, "link", fail)
    before = (data / "data.mdb").read_bytes()
    with pytest.raises(StorageFailed, match="no second names"):
        restore(copy, data, force=True)
    assert (data / "data.mdb").read_bytes() == before
    assert not (data / "openmsmq.staging").exists()


DIE = """
    import os, shutil, sys
    from pathlib import Path
    import openmsmq
    from openmsmq.service.maintenance import restore

    EVENTS = {"open", "os.mkdir", "os.link", "os.rename", "os.rmdir", "os.remove"}

    def live(copy, place, last):
        # Die at the event with number `last`; whether it came to that.
        seen = 0
        def watch(event, arguments):
            nonlocal seen
            if event in EVENTS:
                seen += 1
                if seen == last:
                    os._exit(1)
        child = os.fork()
        if not child:
            sys.addaudithook(watch)
            restore(copy, place, force=True)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    whole, copy, place = map(Path, sys.argv[1:])
    last = status = 1
    while status:
        shutil.copytree(whole, place)
        status = live(copy, place, last)
        assert status in (0, 1), status
        with openmsmq.open(place) as manager:
            print(manager.open_queue("orders").info().messages)
        shutil.rmtree(place)
        last += 1
"""


def test_a_crash_at_any_step_leaves_the_old_store_or_the_new_one(
    copy: Path, data: Path, tmp_path: Path
) -> None:
    with openmsmq.open(data) as manager:
        manager.open_queue("orders").receive_many(15, timeout=0)
    found = list(map(int, children.run(DIE, data, copy, tmp_path / "place")))
    assert len(found) > 15
    assert set(found) == {5, 20}
    assert found == sorted(found)


# The rest


def test_checking_and_compacting_take_any_path(data: Path) -> None:
    reported: list[str] = []
    assert check(str(data)).messages == len(LABELS)
    with openmsmq.open(data) as manager:
        queue = manager.open_queue("orders")
        queue.send_many([Message(bytes(4000))] * 500)
        queue.receive_many(len(LABELS) + 500, timeout=0)
        queue.send_many([Message(b"x")] * 10)
    done = compact(str(data), lambda what, *_: reported.append(what))
    assert done.size < done.size_before // 5
    assert done.size == (data / "data.mdb").stat().st_size
    assert set(reported) == {"copying", "checking pages"}
    assert len(labels(data)) == 10
    assert check(data).is_whole
