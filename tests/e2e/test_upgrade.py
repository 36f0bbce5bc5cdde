r"""What older versions of the program have left goes on under this one.

`tests/fixtures/stores/write.py` wrote the stores, with the code of their time. In each of them:

* `orders` with `a` (priority 5, which lives for decades), `b` and a large message; `read` in its
  journal; an express message, which is lost; `.\pub` with `public`;
* `tx` with `t1`, aborted once and held by the prepared transaction `x1`, which sends `t3`, and
  with `t2`;
* from format 2: `late`, a dead letter; `aside` in a subqueue; `waits` for a computer that does not
  exist, and `w1`, `w2` for it in transactions; epoch 3 of the writer `writer`;
* from format 3: a subscription of `feed` that is done with `f1` and was given `f2` and `f3`; the
  managers `left` and `right`: left has sent `o1`, which was received, and `o2`, which has arrived,
  and not yet `o3`, `o4` and the plain `p1`; right has sent `i1` and `i2`, and not yet `i3`;
* from format 4: a message for later, one that was sent under the id `id-1`, a limit of aborts.
"""

from __future__ import annotations

import io
import json
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Self

import pytest

import openmsmq
from openmsmq import Manager, Message
from openmsmq.service.maintenance import check
from openmsmq.store.format import FORMAT
from tests.e2e.managers import (
    PATIENCE,
    ManagerProcess,
    free_port,
    running,
    texts,
    until,
)

ROOT = Path(__file__).parents[2]
STORES = ROOT / "tests" / "fixtures" / "stores"
FORMATS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
"Those of which a store is kept."
OLD_CODE = {
    3: "6438079",
    4: "208e5de",
    5: "848b6dd",
    6: "fb4b9b6",
    7: "5a68228",
    8: "cf05ef0",
    9: "e03aa3b",
}
"The last commit of each format that exchanges messages with others."
EACH = pytest.mark.parametrize("version", FORMATS)


def unpack(version: int, store: str, folder: Path) -> Path:
    """A copy of a store that an older version wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = (STORES / f"format-{version}-{store}.mdb.xz").read_bytes()
    (folder / "data.mdb").write_bytes(lzma.decompress(packed))
    return folder


def test_a_store_of_every_earlier_format_is_kept() -> None:
    kept = {int(path.name.split("-")[1]) for path in STORES.glob("format-*-left.mdb.xz")}
    assert kept == set(FORMATS) >= set(range(1, FORMAT)), (
        "write one with the last program that knew it, see write.py"
    )


@EACH
def test_queues_and_messages_are_there(version: int, tmp_path: Path) -> None:
    with openmsmq.open(unpack(version, "left", tmp_path)) as manager:
        orders = manager.open_queue("orders")
        found = [(str(m.text)[:5], m.priority, m.label) for m in orders.peek_many(9, 0)]
        assert found == [("a", 5, ""), ("b", 3, "second"), ("large", 3, "")]
        first, second, large = orders.peek_many(9, 0)
        assert (first.app_specific, second.correlation_id) == (7, bytes(range(20)))
        assert len(str(large.text)) == len("large ") + 9000
        info = orders.info()
        assert (info.label, info.journal, info.transactional) == ("of the shop", True, False)
        assert texts(manager, ".\\pub") == ["public"]
        assert [m.text for m in manager.open_queue("orders").receive_many(9, 0)][:2] == ["a", "b"]
        orders.send("new")
        assert texts(manager, "orders") == ["new"]
    assert check(tmp_path).findings == ()


@EACH
@pytest.mark.parametrize("outcome", ["commit", "abort"])
def test_a_prepared_transaction_waits_for_its_outcome(
    version: int, outcome: str, tmp_path: Path
) -> None:
    with openmsmq.open(unpack(version, "left", tmp_path)) as manager:
        assert manager.prepared() == ["x1"]
        assert texts(manager, "tx") == ["t2"], "it holds t1"
        if outcome == "commit":
            manager.commit_prepared("x1")
            assert texts(manager, "tx") == ["t2", "t3"]
        else:
            manager.abort_prepared("x1")
            tx = manager.open_queue("tx")
            # Aborted twice: format 4 has a limit of two for this queue.
            expected = [("t2", 0)] if version >= 4 else [("t1", 2), ("t2", 0)]
            assert [(m.text, m.abort_count) for m in tx.peek_many(9, 0)] == expected
    with openmsmq.open(tmp_path) as manager:
        assert manager.prepared() == []
    assert check(tmp_path).findings == ()


@pytest.mark.parametrize("version", [v for v in FORMATS if v >= 2])
def test_what_format_2_brought_is_there(version: int, tmp_path: Path) -> None:
    with openmsmq.open(unpack(version, "left", tmp_path)) as manager:
        assert texts(manager, ".\\DeadLetter$") == ["late"]
        assert texts(manager, ".\\private$\\orders;retry") == ["aside"]
        assert texts(manager, ".\\private$\\orders\\Journal$") == ["read"]
        waiting = {i.name: i.messages for i in manager.outgoing() if "nowhere" in i.name}
        assert waiting == {
            "DIRECT=OS:nowhere\\private$\\plain": 1,
            "DIRECT=OS:nowhere\\private$\\tx": 2,
        }
        assert not manager.commit_epoch("writer", 3, []), "that epoch is over"
        assert manager.commit_epoch("writer", 4, [])
        assert manager.statistics()["expired"] == 1


@pytest.mark.parametrize("version", [v for v in FORMATS if v >= 3])
def test_a_subscription_goes_on_where_it_was(version: int, tmp_path: Path) -> None:
    with openmsmq.open(unpack(version, "left", tmp_path)) as manager:
        (info,) = manager.subscriptions()
        assert (info.name, info.committed, info.reserved, info.uncommitted) == ("reader", 1, 3, 2)
        if version == 3:
            assert info.idle == 0, "format 3 kept no time"
        reader = manager.open_queue("feed").subscription("reader")
        assert [m.text for m in reader.read(1, 3)] == ["f2", "f3"]
        assert reader.reserve(3) == 5
        assert [m.text for m in reader.read(3, 5)] == ["f4", "f5"]
        reader.commit(5)
        assert texts(manager, "feed") == []


@pytest.mark.parametrize("version", [v for v in FORMATS if v >= 4])
def test_what_format_4_brought_is_there(version: int, tmp_path: Path) -> None:
    with openmsmq.open(unpack(version, "left", tmp_path)) as manager:
        later = manager.open_queue("later")
        assert texts(manager, "later") == ["once", "staged"]
        assert later.info().delayed == 1
        assert later.send("once", dedup_id="id-1").duplicate
        assert texts(manager, "later") == ["once", "staged"]
        assert (manager.open_queue("tx").info().abort_limit) == 2


# Streams that older versions began


@pytest.mark.slow
@pytest.mark.parametrize("version", [v for v in FORMATS if v >= 3])
def test_two_managers_finish_the_exchange_that_older_ones_began(
    version: int, tmp_path: Path
) -> None:
    """What was acknowledged comes once, in its order, and is acknowledged in the end."""
    ports = free_port(), free_port()
    left = ManagerProcess(tmp_path, "left", port=ports[0], peers={"right": ("127.0.0.1", ports[1])})
    right = ManagerProcess(
        tmp_path, "right", port=ports[1], peers={"left": ("127.0.0.1", ports[0])}
    )
    for manager in (left, right):
        unpack(version, manager.name, manager.folder / "data")
    with running(left, right), left.connect() as here, right.connect() as there:
        until(lambda: texts(there, "in") == ["o2", "o3", "o4"])
        until(lambda: texts(here, "in") == ["i1", "i2", "i3"])
        until(lambda: texts(there, "plain") == ["p1"])
        assert [m.text for m in there.open_queue("in").receive_many(9, 0)] == ["o2", "o3", "o4"]
        assert [m.text for m in here.open_queue("in").receive_many(9, 0)] == ["i1", "i2", "i3"]
        until(lambda: is_done(here, "right"), "left's messages were not confirmed")
        until(lambda: is_done(there, "left"), "right's messages were not confirmed")
        assert texts(here, ".\\XactDeadLetter$") == texts(there, ".\\XactDeadLetter$") == []
        send_in(here, "DIRECT=OS:right\\private$\\in", "o5")
        until(lambda: texts(there, "in") == ["o5"], "the stream does not go on")


def is_done(manager: Manager, peer: str) -> bool:
    """Nothing waits for another computer."""
    infos = [info for info in manager.outgoing() if peer in info.name]
    return not any(i.messages + i.unacknowledged + i.unprocessed for i in infos)


def send_in(manager: Manager, name: str, *bodies: str) -> None:
    queue = manager.open_queue(name)
    for body in bodies:
        with manager.transaction() as transaction:
            queue.send(Message(body, dead_letter=True), transaction=transaction)


# The code of older versions, where the history of the repository is at hand


def old_source(commit: str, folder: Path) -> Path:
    """The package as it was; the test is skipped where there is no history."""
    command = ["git", "-C", str(ROOT), "archive", commit, "src"]
    try:
        packed = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"needs the history of the repository: {commit} is not there")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


PROGRAM = """
import json, sys, time
import openmsmq
from openmsmq import Message

def create():
    manager.create_queue("plain")
    manager.create_queue("tx", transactional=True)

def send(other, bodies):
    plain = manager.open_queue(f"DIRECT=OS:{other}\\\\private$\\\\plain")
    tx = manager.open_queue(f"DIRECT=OS:{other}\\\\private$\\\\tx")
    for body in bodies:
        plain.send(body)
        with manager.transaction() as transaction:
            tx.send(Message(body, dead_letter=True), transaction=transaction)

def wait(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)

def take(name, count):
    queue = manager.open_queue(name)
    wait(lambda: queue.info().messages >= count)
    return [m.text for m in queue.receive_many(2 * count, 0)]

def waiting():
    return sum(i.messages + i.unacknowledged + i.unprocessed for i in manager.outgoing())

def finish():
    wait(lambda: not waiting())
    return waiting()

with openmsmq.connect(sys.argv[1], reconnect=60.0) as manager:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(globals()[name](*arguments)), flush=True)
"""


class Program:
    """A program of the manager's own version, which calls functions by name."""

    def __init__(self, manager: ManagerProcess) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, manager.app],
            env=manager.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, function: str, *arguments: object) -> Any:
        """What one of its functions answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([function, *arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"it has ended: {self._process.wait(PATIENCE)}"
        return json.loads(answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    "version", [3, pytest.param(4, marks=pytest.mark.acceptance), max(OLD_CODE)]
)
def test_a_manager_of_an_older_version_and_one_of_this_exchange_messages(
    version: int, tmp_path: Path
) -> None:
    """Both ways, plain and in transactions, in order, over kills of both, until all is confirmed.

    The old manager is the code of its time in a process of its own. A clone without history skips
    this; there, the stores above are all that is left of old managers.
    """
    source = old_source(OLD_CODE[version], tmp_path / "old")
    here, there = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    new = ManagerProcess(tmp_path, "new", port=here[1], peers={"former": there})
    old = ManagerProcess(tmp_path, "former", port=there[1], peers={"new": here}, source=source)
    with running(new, old), Program(new) as newer, Program(old) as older:
        newer.ask("create")
        older.ask("create")
        bodies: list[str] = []
        for part in range(3):
            more = [f"{part}-{number}" for number in range(5)]
            bodies += more
            newer.ask("send", "former", more)
            older.ask("send", "new", more)
            killed = (new, old)[part % 2]
            killed.kill()
            killed.start()
        for program in (newer, older):
            for name in ("plain", "tx"):
                assert program.ask("take", name, len(bodies)) == bodies
        assert newer.ask("finish") == older.ask("finish") == 0, "not all was confirmed"
