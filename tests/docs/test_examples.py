"""Every example in the README and in docs/ runs, and says what it is printed to say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.generate_docs import ROOT

from openmsmq.cli.main import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(language: str) -> list[tuple[str, str]]:
    """The code blocks of a language, with the page they stand on."""
    found = []
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text()):
            if kind == language:
                found.append((page.name, text))
    return found


@pytest.mark.parametrize(("page", "text"), blocks("console"))
def test_commands_print_what_the_page_shows(page: str, text: str) -> None:
    command, _, expected = text.partition("\n")
    prompt, program, *arguments = shlex.split(command)
    assert (prompt, program) == ("$", "openmsmq"), page
    result = CliRunner().invoke(main, arguments)
    assert result.output == expected


@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_python_examples_run(
    page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(text, page, "exec"), {})


def test_there_are_examples() -> None:
    assert len(blocks("console")) >= 4
    assert len(blocks("python")) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_documented(command: str) -> None:
    assert f"openmsmq {command}" in (ROOT / "README.md").read_text()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
