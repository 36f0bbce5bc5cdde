"""docs/mistakes.md: every mistake, made on a running service, gives the message of the page."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.generate_docs import ROOT

import openmsmq
from openmsmq.access.tokens import Tokens
from openmsmq.cli.main import main
from tests.certificates import make_certificates
from tests.e2e.test_serve import Running, running

PAGE = ROOT / "docs" / "mistakes.md"
ROW = re.compile(r"^\| ([^|`]+) \| `([^`]+)` \| `(.+?)` \| [^|]+ \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())
NEEDS_A_SMALL_DISK = "the disk is full"
TIMEOUT_S = 30


def test_the_page_has_at_least_25_mistakes() -> None:
    titles = [title for title, _, _ in ROWS]
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    headings = [line for line in lines if line.startswith("| Mistake")]
    assert len(set(titles)) == len(titles) == len(lines) - len(headings) >= 25


class Stage:
    """Two services, one of them with TLS, and the files that the page speaks of."""

    def __init__(self, folder: Path, plain: Running, secure: Running) -> None:
        self.folder = folder
        self.places = {
            "127.0.0.1:1999": f"127.0.0.1:{_free_port()}",
            "127.0.0.2:1811": _address(secure, "app"),
            "127.0.0.1:1811": _address(plain, "app"),
            "127.0.0.1:1810": _address(plain, "console"),
            "127.0.0.1:1801": _address(plain, "binary"),
        }
        self.words = {"READER": "", "LABEL300": "x" * 300}
        self.manager = openmsmq.connect(self.places["127.0.0.1:1811"])
        for name in ("orders", "small", "full"):
            self.manager.create_queue(name, quota=1 if name == "small" else None)
        self.manager.create_queue("ledger", transactional=True)
        self.manager.open_queue("full").send("x")
        self.closed = self.manager.open_queue("orders")
        self.closed.close()

    def run(self, command: str) -> str:
        """What a command says."""
        for shown, real in (self.places | self.words).items():
            command = command.replace(shown, real)
        program, *arguments = shlex.split(command)
        assert program == "openmsmq"
        if arguments[0] == "serve":
            return self._serve(arguments)
        environment = {} if "--data" in arguments else {"OPENMSMQ_MANAGER": self.address}
        return CliRunner().invoke(main, arguments, env=environment).output

    @property
    def address(self) -> str:
        """That of the service without TLS."""
        return self.places["127.0.0.1:1811"]

    def _serve(self, arguments: list[str]) -> str:
        """A service that does not start; the first port it opens is that of the other one."""
        if "--app-port" not in arguments:
            arguments = [*arguments, "--app-port", self.address.rpartition(":")[2]]
        command = [sys.executable, "-m", "openmsmq", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=self.folder, check=False
        )
        assert done.returncode == 1, done.stderr
        return done.stderr

    def execute(self, statement: str) -> str:
        """What the exception of a statement says."""
        names = {"manager": self.manager, "closed": self.closed, "datetime": datetime}
        with pytest.raises((openmsmq.MQError, TypeError, ValueError)) as info:
            exec(statement, names)
        return str(info.value)

    def shown(self, text: str) -> str:
        """What was said, with the addresses of the page."""
        for shown, real in self.places.items():
            text = text.replace(real, shown)
        return text


def _free_port() -> int:
    with socket.socket() as test:
        test.bind(("127.0.0.1", 0))
        port: int = test.getsockname()[1]
        return port


def _address(service: Running, listener: str) -> str:
    host, port = service.ready()[listener]
    return f"{host}:{port}"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """All of it is started once, for all mistakes."""
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "MANAGER", "TOKEN", "TLS_CA"):
        monkeypatch.delenv(f"OPENMSMQ_{name}", raising=False)
    make_certificates(tmp_path)
    (tmp_path / "huge").write_bytes(bytes(5_000_000))
    (tmp_path / "page").write_bytes(bytes(5_000))
    (tmp_path / "broken.toml").write_text("[queues")
    (tmp_path / "plan.toml").write_text('[queues.orders]\nlable = "x"\n')
    (tmp_path / "unknown.toml").write_text("[app]\nprot = 3\n")
    folders = [tmp_path / "plain", tmp_path / "secure"]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "data").mkdir()
    (tmp_path / "served").symlink_to(folders[0] / "data")
    _, reader = Tokens(folders[0] / "data").create("read")
    tls = ["--bind", "127.0.0.2", "--tls-cert", "../server.pem", "--tls-key", "../server.key"]
    with running(folders[0]) as plain, running(folders[1], *tls) as secure:
        made = Stage(tmp_path, plain, secure)
        made.words["READER"] = reader
        yield made
        made.manager.close()


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[bool]:
    """A file system without room; False where it cannot be made."""
    place = folder / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    try:
        can = os.geteuid() == 0 and subprocess.run(mount, check=False, capture_output=True)
    except OSError:
        can = False
    is_there = not isinstance(can, bool) and not can.returncode
    try:
        if is_there:
            with openmsmq.open(place / "data") as manager:
                manager.create_queue("orders")
        yield is_there
    finally:
        if is_there:
            subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_every_mistake_gives_the_message_of_the_page(stage: Stage, tmp_path: Path) -> None:
    wrong: list[str] = []
    with full_disk(tmp_path) as is_full:
        for title, made, expected in ROWS:
            if title == NEEDS_A_SMALL_DISK and not is_full:
                continue
            make: Callable[[str], str] = (
                stage.run if made.startswith("openmsmq ") else stage.execute
            )
            output = " ".join(stage.shown(make(made)).split())
            wanted = ".*".join(map(re.escape, expected.split("...")))
            if not re.search(wanted, output):
                wrong.append(f"{title}: {made}\n  {output}\n  instead of\n  {expected}")
    assert not wrong, "\n".join(wrong)
