"""docs/cli.md: the commands as they are."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from click.testing import CliRunner
from tools.generate_cli import Entry, entries, page, read_help

from openmsmq.cli.main import main

ENTRIES = {entry.name: entry for entry in entries()}
EACH = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def test_a_terminal_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    narrow = page()
    monkeypatch.setenv("COLUMNS", "200")
    assert page() == narrow


def test_to_write_the_page_leaves_the_commands_as_they_are() -> None:
    page()
    assert CliRunner().invoke(main, ["queue", "-h"]).exit_code == 0


@EACH
def test_help_is_taken_apart_completely(entry: Entry) -> None:
    words = read_help(entry.command)
    assert words.summary.endswith(".")
    assert words.examples
    assert not any("\b" in text or "\\b" in text for text in words.text)


@EACH
def test_every_option_is_listed_and_explained(entry: Entry) -> None:
    heading = f"# {entry.name}\n"
    section = re.split(r"\n#+ ", page().partition(heading)[2])[0]
    for option in entry.command.params:
        if isinstance(option, click.Option):
            assert option.help
            assert f"{option.opts[0]}" in section


@EACH
def test_examples_use_options_that_there_are(entry: Entry) -> None:
    for line in read_help(entry.command).examples:
        for call in _calls(line):
            names = (" ".join(call[:length]) for length in (4, 3, 2))
            parameters = next(ENTRIES[name] for name in names if name in ENTRIES).command.params
            known = {name for p in parameters for name in (*p.opts, *p.secondary_opts)}
            assert {word for word in call if re.fullmatch(r"--?[a-z][\w-]*", word)} <= known


def _calls(line: str) -> list[list[str]]:
    """The calls of openmsmq in a line, between pipes and redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    calls: list[list[str]] = [[]]
    for word in lexer:
        if word and set(word) <= set("|<>"):
            calls.append([])
        else:
            calls[-1].append(word)
    return [call for call in calls if call[0] == "openmsmq"]


def test_names_and_patterns_are_marked_as_code() -> None:
    text = page()
    assert r"`.\private$\orders`" in text
    assert "`*` and" in text
    assert "`{n}` in the label" in text
