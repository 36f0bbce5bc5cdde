"""Every example in the README and in docs/ runs, and says what it is printed to say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq.cli.main import main
from tests.docs.console import PAGES, Console, blocks, commands, is_shown
from tests.unit.client.services import Service

LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
WITH_COMMANDS = [page for page in PAGES if blocks(page, "console")]
PYTHON = [
    pytest.param(page, text, id=f"{page.name}-{number}")
    for page in PAGES
    for number, text in enumerate(blocks(page, "python"), 1)
    if "spark" not in text  # those run where there is a session: tests/spark/test_docs.py
    if "psycopg" not in text  # and those with a database in test_transactions.py
    if page.name
    not in (
        "remote-read.md",
        "management.md",
        "dependent-clients.md",
    )  # and others with managers elsewhere
]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory, a computer and a program that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for name in ("DATA", "MANAGER", "TOKEN", "TLS_CA"):
        monkeypatch.delenv(f"OPENMSMQ_{name}", raising=False)
    monkeypatch.setattr("socket.gethostname", lambda: "shop01")
    monkeypatch.setattr(sys, "argv", ["openmsmq"])


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path) -> None:
    """The blocks of a page are one session."""
    if sys.platform != "linux" and any("127.0.0.2" in block for block in blocks(page, "console")):
        pytest.skip("only Linux has more addresses of its own")
    with Console() as console:
        for block in blocks(page, "console"):
            for command, expected in commands(block):
                output = console.run(command)
                assert is_shown(output, expected), f"{command}\n{output}instead of\n{expected}"


@pytest.fixture
def _service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service, wherever a page connects to."""
    made = Service(tmp_path / "served")
    connect = openmsmq.connect
    monkeypatch.setattr(openmsmq, "connect", lambda _, **given: connect(made.address, **given))
    yield
    made.close()


@pytest.mark.usefixtures("_service")
@pytest.mark.parametrize(("page", "text"), PYTHON)
def test_python_examples_run(page: Path, text: str) -> None:
    exec(compile(text, page, "exec"), {})


def test_there_are_examples() -> None:
    assert {"README.md", "concepts.md", "decode.md"} <= {page.name for page in WITH_COMMANDS}
    assert len(PYTHON) >= 10


@pytest.mark.parametrize(
    ("output", "expected", "shown"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("size 17 B, whole\n", "size ..., whole\n", True),
        ("one\ntwo\n", "...\n", False),
        ("a.b\n", "axb\n", False),
        ("arrived 2031-01-01 00:00:00 UTC\n", "arrived 2026-07-01 10:20:30 UTC\n", True),
        ("arrived yesterday\n", "arrived 2026-07-01 10:20:30 UTC\n", False),
        (f"{0:08x}-0000-0000-0000-{1:012x}\\7\n", f"{2:08x}-0000-0000-0000-{3:012x}\\9\n", True),
    ],
)
def test_output_is_compared_but_for_what_is_new_each_time(
    output: str, expected: str, *, shown: bool
) -> None:
    assert is_shown(output, expected) is shown


def test_a_session_goes_on_from_command_to_command() -> None:
    console = Console()
    console.run("export OPENMSMQ_DATA=data")
    assert console.run("openmsmq queue create orders") == "created .\\private$\\orders\n"
    console.run("ID=$(openmsmq message send orders --body x)")
    assert "arrived" in console.run('openmsmq explain "$ID"')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), target
        if anchor:
            assert anchor in _anchors(found), f"{target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    headings = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-").lower() for heading in headings}


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_documented(command: str) -> None:
    assert f"openmsmq {command}" in (ROOT / "README.md").read_text()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
