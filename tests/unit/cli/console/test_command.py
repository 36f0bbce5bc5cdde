"""`openmsmq console`."""

from __future__ import annotations

import json
import time
from pathlib import Path

from click.testing import CliRunner

from openmsmq.cli.main import main
from openmsmq.console.sessions import Sessions, load_key, write_place


def test_a_link_logs_in(tmp_path: Path) -> None:
    key = load_key(tmp_path)
    write_place(tmp_path, 4321)
    done = CliRunner().invoke(main, ["console", "login", "--data", str(tmp_path)])
    place, _, code = done.output.strip().partition("/login#")
    assert place == "http://127.0.0.1:4321"
    assert Sessions(key, time.time).redeem(code)


def test_without_a_console_there_is_no_link(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["console", "login", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "is openmsmq serve running there?" in done.output


def test_a_console_needs_a_manager() -> None:
    assert CliRunner().invoke(main, ["console"]).exit_code == 2


def test_notes_are_written_listed_and_removed(tmp_path: Path) -> None:
    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["console", *words, "--data", str(tmp_path)])
        assert done.exit_code == code, done.output
        return done.output

    group = ("--reason", "late", "--destination", "orders", "--labels", "order #")
    assert run("note", ".\\DeadLetter$", "Ann asks", *group) == "noted: .\\DeadLetter$\n"
    (found,) = map(json.loads, run("notes", "--json").splitlines())
    assert (found["text"], found["labels"], found["manager"]) == ("Ann asks", "order #", "")
    assert "Ann asks" in run("notes")
    assert run("note", ".\\DeadLetter$", "", *group).startswith("removed")
    assert run("notes", "--json") == ""
    assert "at most" in run("note", "orders", "x" * 501, code=2)


def test_findings_are_silenced_and_heard_again(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["console", *words, "--data", str(tmp_path)])
        assert done.exit_code == 0, done.output
        return done.output

    said = run("silence", "old", "orders", "--hours", "8", "--reason", "the reader rests at night")
    assert said.startswith("old of .\\private$\\orders: silent until 20")
    assert run("silence", "disk").startswith("disk: silent until 20")
    kinds = [json.loads(line)["kind"] for line in run("silences", "--json").splitlines()]
    assert kinds == ["disk", "old"]
    assert "the reader rests at night" in run("silences")
    heard = run("silence", "old", "orders", "--hours", "0")
    assert heard == "old of .\\private$\\orders: heard again\n"
    assert "old" not in run("silences")
    wrong = CliRunner().invoke(main, ["console", "silence", "nothing", "--data", str(tmp_path)])
    assert wrong.exit_code == 2
    assert "dead letters, poison" in wrong.output
