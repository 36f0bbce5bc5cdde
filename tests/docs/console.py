"""The examples in the pages: where they are, and a shell that is just large enough to run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from time import sleep

from click.testing import CliRunner
from tools.generate_docs import ROOT

from openmsmq.cli.main import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_PROMPT = r"^\$ "
ANYTHING = "..."
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ASSIGNMENT = re.compile(r"(?:export )?([A-Z_]+)=(.*)")
_VARIABLE = re.compile(r'"\$([A-Z_]+)"')
_CAPTURE = re.compile(r"\$\((.*)\)")
_EACH_TIME_NEW = [
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "GUID"),
    (re.compile(r"GUID\\+\d+"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b\d{18}\b"), "LOOKUP"),
    (re.compile(r"\bprocess \d+"), "process NUMBER"),
    (re.compile(r"\b\d+ s\b"), "AGE"),
    (re.compile(r"\b[\d.]+ GiB are free"), "SPACE are free"),
]
"What differs from run to run: it must be there, whatever it is."


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language on a page."""
    return [text for kind, text in _BLOCK.findall(page.read_text()) if kind == language]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what it prints."""
    for part in re.split(_PROMPT, block, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", "").partition("\n")
        yield command, output


def is_shown(output: str, expected: str) -> bool:
    """Whether a page shows this output; `...` stands for anything in a line."""
    wanted = ".*".join(map(re.escape, _settled(expected).split(ANYTHING)))
    return re.fullmatch(wanted, _settled(output)) is not None


def _settled(text: str) -> str:
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)
    for pattern, word in _EACH_TIME_NEW:
        text = pattern.sub(word, text)
    return text


class Console:
    """Runs `openmsmq`, `sleep` and assignments, with variables in double quotes."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}

    def run(self, command: str) -> str:
        """What a command prints."""
        if assignment := _ASSIGNMENT.fullmatch(command):
            name, value = assignment.groups()
            inner = _CAPTURE.fullmatch(value)
            self._variables[name] = self.run(inner[1]).rstrip() if inner else value
            return ""
        expanded = _VARIABLE.sub(lambda found: shlex.quote(self._variables[found[1]]), command)
        program, *arguments = shlex.split(expanded)
        if program == "sleep":
            sleep(float(arguments[0]))
            return ""
        assert program == "openmsmq", f"{program} cannot be run here"
        return CliRunner().invoke(main, arguments, env=self._variables).output
