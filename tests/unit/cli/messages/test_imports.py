"""`openmsmq message import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli, ServiceCli

from openmsmq.cli.messages import imports as message_import

LINES = [f'{{"text": "{n}", "body_type": 8}}' for n in range(7)]
BAD = [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("\udcff", "not JSON"),
    ("5", "IllegalPropertyVt"),
    ('{"labl": ""}', "a message has no field labl"),
    (r'{"\u001b[2J": ""}', "a message has no field �[2J"),
    ('{"priority": 9}', "priority"),
    ('{"body": "*"}', "not base64"),
]


@pytest.fixture(params=[False, True], ids=["plain", "transactional"])
def orders(cli: Cli, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A queue to fill; batches are of three."""
    monkeypatch.setattr(message_import, "BATCH", 3)
    cli("queue", "create", "orders", *["--transactional"] * request.param)
    return cli


def text_of(lines: list[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def labels(cli: Cli) -> list[str]:
    with cli.open() as manager:
        found = manager.open_queue("orders").peek_many(99, timeout=0)
    return [message.text or "" for message in found]


def test_lines_become_messages(orders: Cli) -> None:
    result = orders("message", "import", "orders", stdin=text_of(LINES))
    assert result.stdout == "imported 7 messages to .\\private$\\orders\n"
    assert labels(orders) == list("0123456")


def test_a_file_is_read(orders: Cli, tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text_of(LINES[:2]).replace(b"\n", b"\r\n \r\n"))
    assert orders.objects("message", "import", "orders", str(path)) == [
        {"name": r".\private$\orders", "imported": 2, "refused": 0}
    ]
    assert labels(orders) == ["0", "1"]


def test_an_empty_file_is_fine(orders: Cli) -> None:
    orders("message", "import", "orders", "-", stdin=b"\n\n")
    assert labels(orders) == []


@pytest.mark.parametrize("place", [0, 1, 3, 5])
@pytest.mark.parametrize(("bad", "words"), BAD, ids=[words for _, words in BAD])
def test_a_bad_line_ends_it_after_the_lines_before(
    orders: Cli, place: int, bad: str, words: str
) -> None:
    lines = [*LINES[:place], bad, *LINES[place:]]
    result = orders("message", "import", "orders", stdin=text_of(lines), code=1)
    assert f"openmsmq: line {place + 1}: " in result.stderr
    assert words in result.stderr
    assert labels(orders) == list("0123456"[:place])


def test_bad_lines_can_be_left_out(orders: Cli) -> None:
    lines = [BAD[0][0], *LINES[:4], BAD[4][0], *LINES[4:]]
    [result] = orders.objects(
        "message", "import", "orders", "--keep-going", stdin=text_of(lines), code=1
    )
    assert (result["imported"], result["refused"]) == (7, 2)
    assert labels(orders) == list("0123456")
    said = orders(
        "message", "import", "orders", "--keep-going", stdin=text_of(lines), code=1
    ).stderr
    assert "line 1: " in said
    assert "line 6: " in said
    assert "2 lines left out" in said


def test_a_message_the_queue_refuses_is_found_in_its_batch(orders: Cli) -> None:
    orders("queue", "set", "orders", "--quota", "4")
    large = json.dumps({"text": "x" * 3000})
    lines = [*LINES[:1], large, *LINES[1:]]
    result = orders("message", "import", "orders", stdin=text_of(lines), code=1)
    assert "line 2: QueueQuotaExceeded (0xC00E0027)" in result.stderr
    assert labels(orders) == ["0"]
    orders("queue", "purge", "orders", "--yes")
    orders("message", "import", "orders", "--keep-going", stdin=text_of(lines), code=1)
    assert labels(orders) == list("0123456")


def test_batches_are_bounded_by_size(orders: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_import, "BATCH", 1000)
    monkeypatch.setattr(message_import, "BATCH_BYTES", 2 * len(LINES[0]))
    orders("message", "import", "orders", stdin=text_of(LINES))
    assert labels(orders) == list("0123456")


def test_a_line_without_end_is_refused(orders: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_import, "LINE_MAX", 50)
    lines = [LINES[0], json.dumps({"label": "x" * 100})]
    result = orders("message", "import", "orders", stdin=text_of(lines), code=1)
    assert "line 2: longer than 50 bytes" in result.stderr


def test_express_messages_are_kept_on_disk_where_there_is_no_service(orders: Cli) -> None:
    line = b'{"text": "fast", "recoverable": false}'
    orders("message", "import", "orders", stdin=line)
    with orders.open() as manager:
        message = manager.open_queue("orders").receive(timeout=0)
    assert message.text == "fast"
    stays_express = isinstance(orders, ServiceCli) and not message.transactional
    assert message.recoverable is not stays_express


def test_a_pipe_has_no_size(orders: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe:
        def seekable(self) -> bool:
            return False

    assert message_import._size(Pipe()) == 0  # type: ignore[arg-type]  # as much as is asked of it
