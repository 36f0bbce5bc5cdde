"""How commands print."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from openmsmq.cli import output
from openmsmq.cli.output import (
    age_text,
    count_text,
    is_like,
    print_json,
    print_properties,
    print_table,
    printable,
    progress,
    quota_text,
    size_text,
    time_json,
    time_text,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (999 * 1024, "999 KiB"),
        (1000 * 1024, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (7 << 50, "7168 TiB"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text


def test_quotas_are_sizes_or_no_limit() -> None:
    assert quota_text(None) == "no limit"
    assert quota_text(2048) == "2.0 MiB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_800, "2 d"),
        (400 * 86_400, "400 d"),
    ],
)
def test_ages_are_short(seconds: float | None, text: str) -> None:
    assert age_text(seconds) == text


def test_one_is_singular() -> None:
    assert count_text(1) == "1 message"
    assert count_text(0) == "0 messages"
    assert count_text(1234, "line") == "1,234 lines"


def test_times_are_in_utc() -> None:
    moment = datetime(2024, 5, 6, 9, 8, 9, tzinfo=timezone(timedelta(hours=2)))
    assert time_json(moment) == "2024-05-06T07:08:09Z"
    assert time_text(moment) == "2024-05-06 07:08:09 UTC"
    assert time_json(0) == "1970-01-01T00:00:00Z"
    assert time_text(datetime(2024, 1, 1, 0, 0, 0, 5000, UTC)) == "2024-01-01 00:00:00.005000 UTC"


def test_nothing_in_a_text_commands_the_terminal() -> None:
    assert printable("plain é 日本") == "plain é 日本"
    assert printable("a\x1b[2Jb\r\n\x9b\ud800\u202e") == "a�[2Jb�����"
    assert printable("a\tb\x07", keep="\t") == "a\tb�"


def test_objects_are_lines_of_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "é\n\ud800", "b": None})
    line = capsys.readouterr().out
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line) == {"a": "é\n\ud800", "b": None}


def test_a_table_for_a_program_has_one_line_for_each_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("NAME", ">COUNT"), [("x" * 300, 5), ("[bold]:smile:\x1b", 1000)])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "COUNT"]
    assert first.split() == ["x" * 300, "5"]
    assert second.split() == ["[bold]:smile:�", "1000"]
    assert len(first) == len(second), "numbers are set to the right"


def test_a_table_for_a_program_has_no_spaces_at_its_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("NAME", "LABEL"), [("a", "long label"), ("b", "")])
    assert capsys.readouterr().out == "NAME  LABEL\na     long label\nb\n"


def test_a_table_for_a_person_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(("NAME", "LABEL"), [("a", "word " * 20)])
    lines = [line for line in terminal.written.splitlines() if "\x1b" not in line]
    assert len(lines) > 1, "the label is wrapped"
    assert max(len(line) for line in lines) <= 40


def test_properties_are_one_to_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_properties([("name", "[red]a"), ("longer name", 7)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1)[-1].strip() for line in lines] == ["[red]a", "name  7"]


class Terminal:
    """Stands in for stderr that a person reads."""

    def __init__(self) -> None:
        self.written = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass


def in_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal for progress bars; not a fixture, as pytest changes stderr after those."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_long_work_shows_a_bar_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    with progress("sending", output.LONG_WORK) as advance:
        advance(output.LONG_WORK)
    assert "sending" in terminal.written
    assert "100%" in terminal.written


def test_short_or_hidden_work_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    with progress("sending", output.LONG_WORK - 1) as advance:
        advance(1)
    with progress("sending", output.LONG_WORK, shown=False) as advance:
        advance(1)
    assert terminal.written == ""


def test_a_program_sees_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("sending", output.LONG_WORK) as advance:
        advance(1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("orders", True),
        ("ORD*", True),
        (r".\private$\*", True),
        ("private$", False),
        ("ord", False),
    ],
)
def test_a_pattern_fits_the_name_or_its_last_part(pattern: str, *, fits: bool) -> None:
    assert is_like(r".\private$\Orders", pattern) is fits
