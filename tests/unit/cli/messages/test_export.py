"""`openmsmq message export`."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import IO, NoReturn

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.cli.messages import export as message_export
from openmsmq.client._sync.manager import Queue
from openmsmq.errors import MessageNotFound

NUMBERS = [b"%d" % n for n in range(7)]


@pytest.fixture(params=[False, True], ids=["plain", "transactional"])
def orders(cli: Cli, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A queue of seven messages; batches are of three."""
    monkeypatch.setattr(message_export, "BATCH", 3)
    cli.fill("orders", *NUMBERS, transactional=request.param)
    return cli


def texts(lines: str) -> list[bytes]:
    return [json.loads(line)["text"].encode() for line in lines.splitlines()]


def test_messages_are_written_and_stay(orders: Cli) -> None:
    assert texts(orders("message", "export", "orders").stdout) == NUMBERS
    assert orders.bodies("orders") == NUMBERS


def test_the_lines_are_those_of_a_peek(orders: Cli) -> None:
    exported = [json.loads(line) for line in orders.lines("message", "export", "orders")]
    assert exported == orders.objects("message", "peek", "orders", "--count", "9")


def test_an_empty_queue_is_an_empty_file(cli: Cli, tmp_path: Path) -> None:
    cli("queue", "create", "orders")
    output = tmp_path / "orders.jsonl"
    cli("message", "export", "orders", "--output", str(output), "--receive")
    assert output.read_text() == ""


def test_received_messages_are_removed(orders: Cli, tmp_path: Path) -> None:
    output = tmp_path / "orders.jsonl"
    arguments = ("message", "export", "orders", "--output", str(output), "--receive")
    assert orders.lines(*arguments) == [rf"exported 7 messages of .\private$\orders to {output}"]
    assert texts(output.read_text()) == NUMBERS
    assert orders.bodies("orders") == []


def test_received_messages_may_go_to_a_pipe(orders: Cli) -> None:
    assert texts(orders("message", "export", "orders", "--receive").stdout) == NUMBERS
    assert orders.bodies("orders") == []


def test_json_has_the_number_of_exported_messages(orders: Cli, tmp_path: Path) -> None:
    output = tmp_path / "orders.jsonl"
    assert orders.objects("message", "export", "orders", "-o", str(output)) == [
        {"name": r".\private$\orders", "exported": 7, "removed": False}
    ]


def test_a_file_that_is_there_is_left_alone(orders: Cli, tmp_path: Path) -> None:
    output = tmp_path / "orders.jsonl"
    output.write_text("precious")
    result = orders("message", "export", "orders", "-o", str(output), "--receive", code=2)
    assert "not overwritten" in result.stderr
    assert output.read_text() == "precious"
    assert orders.bodies("orders") == NUMBERS


def test_a_folder_that_is_not_there_is_said(orders: Cli, tmp_path: Path) -> None:
    result = orders("message", "export", "orders", "-o", str(tmp_path / "no" / "file"), code=1)
    assert "No such file" in result.stderr


def test_nothing_is_removed_before_it_is_on_disk(
    orders: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "orders.jsonl"
    removed = 0
    fsync = os.fsync
    remove = message_export._remove
    synced = ""

    def sync(descriptor: int) -> None:
        nonlocal synced
        fsync(descriptor)
        if output.exists():
            synced = output.read_text()

    def check(manager: object, queue: object, ids: list[int], *, transactional: bool) -> None:
        nonlocal removed
        removed += len(ids)
        assert synced.count("\n") >= removed
        remove(manager, queue, ids, transactional=transactional)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(message_export, "_remove", check)
    orders("message", "export", "orders", "-o", str(output), "--receive")
    assert removed == 7


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_a_disk_that_fails_keeps_what_it_did_not_take(
    orders: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    output = tmp_path / "orders.jsonl"
    sync = message_export._sync
    calls = 0

    def fail(file: IO[str]) -> None:
        nonlocal calls
        calls += 1
        if calls > batches:
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(message_export, "_sync", fail)
    result = orders("message", "export", "orders", "-o", str(output), "--receive", code=1)
    assert "Input/output error" in result.stderr
    assert orders.bodies("orders") == NUMBERS[3 * batches :]
    assert set(NUMBERS) == {*texts(output.read_text()), *orders.bodies("orders")}


@pytest.mark.parametrize(
    ("code", "fails"),
    [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True), (errno.ENOSPC, True)],
)
def test_only_what_has_no_disk_need_not_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, *, fails: bool
) -> None:
    def refuse(_: int) -> NoReturn:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    with (tmp_path / "file").open("w") as file:
        if fails:
            with pytest.raises(OSError, match="no"):
                message_export._sync(file)
        else:
            message_export._sync(file)


def test_output_that_is_a_file_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        message_export._sync(file)
        assert synced == [file.fileno()]


def test_what_expired_meanwhile_is_passed_over(
    orders: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Queue.receive_by_lookup_id
    calls = 0

    def expired(queue: Queue, lookup_id: int, **more: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise MessageNotFound
        return take(queue, lookup_id, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Queue, "receive_by_lookup_id", expired)
    orders("message", "export", "orders", "--receive")
    assert len(orders.bodies("orders")) == 1
