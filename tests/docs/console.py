"""The examples in the pages: where they are, and a shell that is just large enough to run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import monotonic, sleep
from typing import Self

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
_ADDRESS = re.compile(r"\b127\.0\.0\.(?=[2-9]\b)")
"Computers of a page that are all this one; 127.0.0.1 is itself."
_PATIENCE = 30.0
_ANY_PORTS = ("--app-port", "0", "--console-port", "0", "--binary-port", "off")
_EACH_TIME_NEW = [
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "GUID"),
    (re.compile(r"GUID\\+\d+"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b\d{18}\b"), "LOOKUP"),
    (re.compile(r"\bprocess \d+"), "process NUMBER"),
    (re.compile(r"\b\d+ s\b"), "AGE"),
    (re.compile(r"\b[\d.]+ GiB are free"), "SPACE are free"),
    (re.compile(r"http://127\.0\.0\.1:\d+/login#\S+"), "LINK"),
]
"What differs from run to run: it must be there, whatever it is."


def sections(page: Path, *languages: str) -> list[tuple[str, str]]:
    """The code blocks of a page in their order, each with its language."""
    return [(kind, text) for kind, text in _BLOCK.findall(page.read_text()) if kind in languages]


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
    """Runs `openmsmq`, `sleep` and assignments, with variables in double quotes.

    `openmsmq serve ... &` runs in the background until `kill %1`, `%2` and so on, numbered as a
    shell does it. Without `--bind` it takes free ports, and commands find it all the same.
    """

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._services: dict[int, subprocess.Popen[bytes]] = {}
        self._started = 0
        self._net = ""
        self.address = ""
        "Where the last service without an address of its own is."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for service in self._services.values():
            service.kill()
            service.wait()

    def run(self, command: str) -> str:
        """What a command prints."""
        if not _ADDRESS.search(command) and not self._net:
            return self._run(command)
        self._net = self._net or _free_net()
        return self._run(_ADDRESS.sub(self._net, command)).replace(self._net, "127.0.0.")

    def _run(self, command: str) -> str:
        if assignment := _ASSIGNMENT.fullmatch(command):
            name, value = assignment.groups()
            inner = _CAPTURE.fullmatch(value)
            self._variables[name] = self._run(inner[1]).rstrip() if inner else value
            return ""
        expanded = _VARIABLE.sub(lambda found: shlex.quote(self._variables[found[1]]), command)
        program, *arguments = shlex.split(expanded)
        if program == "sleep":
            sleep(float(arguments[0]))
            return ""
        if program == "unset":
            self._variables.pop(arguments[0], None)
            return ""
        if program == "kill":
            self._end(int(arguments[0].removeprefix("%")))
            return ""
        assert program == "openmsmq", f"{program} cannot be run here"
        if arguments[-1] == "&":
            self._start(arguments[:-1])
            return ""
        return CliRunner().invoke(main, arguments, env=self._variables).output

    def _start(self, arguments: list[str]) -> None:
        """Run a service, and wait until it is ready."""
        self._started += 1
        ready = Path(f"ready-{self._started}.json")
        is_default = "--bind" not in arguments
        ports = _ANY_PORTS if is_default else ()
        command = [sys.executable, "-m", "openmsmq", *arguments, "--ready-file", str(ready), *ports]
        environment = {**os.environ, **self._variables}
        service = subprocess.Popen(command, env=environment)
        self._services[max(self._services, default=0) + 1] = service
        deadline = monotonic() + _PATIENCE
        while not ready.exists():
            assert service.poll() is None, f"{arguments} has ended"
            assert monotonic() < deadline, f"{arguments} is never ready"
            sleep(0.02)
        if is_default:
            host, port = json.loads(ready.read_text())["app"]
            self.address = self._variables["OPENMSMQ_MANAGER"] = f"{host}:{port}"

    def _end(self, number: int) -> None:
        service = self._services.pop(number)
        service.terminate()
        assert service.wait(_PATIENCE) == 0


def _free_net() -> str:
    """Addresses of this computer that no one listens on, as long as those on the pages."""
    for one, other in product(range(1, 10), repeat=2):
        net = f"127.{one}.{other}."
        with socket.socket() as test:
            try:
                test.bind((f"{net}2", 1801))
            except OSError:
                continue
            return net
    raise AssertionError("every address is taken")
