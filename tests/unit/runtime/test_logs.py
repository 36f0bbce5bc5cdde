"""Logs: one event, one line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.errors import StorageFull
from openmsmq.runtime import logs as module
from openmsmq.runtime.limits import LOG_LINES_MAX
from openmsmq.runtime.logs import JsonLines, TextLines, Throttle, log_event, set_up_logs


def line(formatter: logging.Formatter, event: str, **given: object) -> str:
    """What is written about an event."""
    logger = logging.getLogger("test")
    handler = logging.StreamHandler(StringIO())
    handler.setFormatter(formatter)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        log_event(logger, event, **given)  # type: ignore[arg-type]  # level and error among them
    finally:
        logger.removeHandler(handler)
    return handler.stream.getvalue()


@pytest.fixture
def logs() -> Iterator[StringIO]:
    """Where logs go in this test; afterwards they go where they went before."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    yield StringIO()
    root.handlers = handlers
    root.setLevel(level)


def test_people_get_time_level_event_and_fields() -> None:
    text = line(TextLines(), "client connected", address="[::1]:4000", client="my program", n=3)
    time, rest = text.split(" ", 1)
    assert rest == 'info    client connected address=[::1]:4000 client="my program" n=3\n'
    assert len(time) == len("2026-07-01T10:20:30.123Z")
    assert time.endswith("Z")


def test_programs_get_an_object() -> None:
    members = json.loads(line(JsonLines(), "listening", listener="app", path=Path("/a"), n=3))
    assert members.pop("time").endswith("Z")
    assert members == {
        "level": "info", "event": "listening", "logger": "test", "listener": "app", "path": "/a",
        "n": 3,
    }  # fmt: skip


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()], ids=["text", "json"])
@given(event=st.text(), value=st.text())
def test_an_event_is_one_line_whatever_is_in_it(
    formatter: logging.Formatter, event: str, value: str
) -> None:
    text = line(formatter, event, value=value)
    assert text.splitlines() == [text.removesuffix("\n")]
    assert text.removesuffix("\n").isprintable()


def test_no_one_can_fake_a_field() -> None:
    assert line(TextLines(), "x", name='a" role=admin').endswith(' name="a\\" role=admin"\n')
    assert line(TextLines(), "x", name="a=b").endswith(' name="a=b"\n')
    assert line(TextLines(), "x", name="").endswith(' name=""\n')


def test_a_field_has_no_name_that_means_something_else() -> None:
    with pytest.raises(AssertionError):
        line(TextLines(), "x", time=5)


def test_an_expected_error_is_named() -> None:
    text = line(TextLines(), "cannot start", level=logging.ERROR, error=StorageFull("the disk"))
    assert " error   cannot start error=" in text
    assert "StorageFull" in text
    assert "the disk" in text
    members = json.loads(line(JsonLines(), "x", error=OSError(2, "gone")))
    assert members["error"] == "FileNotFoundError: [Errno 2] gone"
    assert "trace" not in members


def test_an_unexpected_error_tells_where_it_came_from() -> None:
    def mistake() -> None:
        raise AssertionError("ours")

    with pytest.raises(AssertionError) as info:
        mistake()
    members = json.loads(line(JsonLines(), "x", error=info.value))
    assert members["error"] == "AssertionError: ours"
    assert "in mistake" in members["trace"]


def test_what_libraries_log_is_written_in_the_same_way(logs: StringIO) -> None:
    set_up_logs("json", "info", logs)
    logging.getLogger("some.library").warning("%d of %d", 1, 2)
    members = json.loads(logs.getvalue())
    assert (members["event"], members["logger"]) == ("1 of 2", "some.library")


def test_logs_can_be_set_up_again(logs: StringIO) -> None:
    again = StringIO()
    set_up_logs("text", "info", logs)
    log_event(logging.getLogger("a"), "unseen", level=logging.DEBUG)
    log_event(logging.getLogger("a"), "seen")
    set_up_logs("json", "debug", again)
    log_event(logging.getLogger("a"), "more", level=logging.DEBUG)
    assert "unseen" not in logs.getvalue()
    assert "seen" in logs.getvalue()
    assert "more" not in logs.getvalue()
    assert json.loads(again.getvalue())["event"] == "more"


# Many lines


def throttled(monkeypatch: pytest.MonkeyPatch, time: list[float]) -> Throttle:
    """Two lines of a kind, in ten seconds by a clock of its own."""
    monkeypatch.setattr(module, "LOG_LINES_MAX", 2)
    monkeypatch.setattr(module, "WINDOW", 10.0)
    return Throttle(lambda: time[0])


def record(event: str, *values: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("test", logging.INFO, "", 0, event, values, None)
    if not values:
        made.msg, made.args = "%s", (event,)
        made.fields = fields
    return made


def test_lines_of_one_kind_are_bounded_and_the_next_says_how_many_were_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = [5.0]
    throttle = throttled(monkeypatch, time)
    assert [throttle.filter(record("session over", n=n)) for n in range(5)] == [True] * 2 + [
        False
    ] * 3
    assert throttle.filter(record("session open")), "another kind"
    time[0] = 15.0
    next_one = record("session over", n=6)
    assert throttle.filter(next_one)
    assert next_one.__dict__["fields"] == {"n": 6, "left_out": 3}
    again = record("session over", n=7)
    assert throttle.filter(again)
    assert again.__dict__["fields"] == {"n": 7}


def test_lines_of_others_go_by_their_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    throttle = throttled(monkeypatch, [0.0])
    assert [throttle.filter(record("try %d", n)) for n in range(3)] == [True, True, False]


def test_kinds_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_KINDS_MAX", 3)
    throttle = throttled(monkeypatch, [0.0])
    found = [throttle.filter(record(f"event {n}")) for n in range(100)]
    assert sum(found) == 3 + 2
    assert len(throttle._kinds) == 4


def test_the_logs_of_a_service_are_bounded(logs: StringIO) -> None:
    set_up_logs("json", "info", logs)
    for n in range(1000):
        log_event(logging.getLogger("test"), "session over", n=n)
    assert len(logs.getvalue().splitlines()) == LOG_LINES_MAX
