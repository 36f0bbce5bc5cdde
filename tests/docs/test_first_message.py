"""A new user's path to the first message seen in a browser, followed as the pages say it."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tools.generate_docs import ROOT

from openmsmq.console.application import load_files
from tests.docs.console import Console, commands, is_shown
from tests.e2e.console_pages import BROWSER, chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
LINK = re.compile(r"http://127\.0\.0\.1:\d+/login#[\w.~-]+(?=\s)")
ANY_PORTS = ("--app-port", "0", "--console-port", "0", "--binary-port", "off")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture(autouse=True)
def _clean_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "MANAGER", "TOKEN", "TLS_CA"):
        monkeypatch.delenv(f"OPENMSMQ_{name}", raising=False)


def section(page: Path, title: str) -> str:
    """What stands under a heading."""
    found = re.search(rf"^#+ {title}\n(.*?)(?=^#+ )", page.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def code_and_words(text: str, language: str) -> tuple[list[str], list[str]]:
    """The blocks of a section, and what the words between them tell the reader to click."""
    code = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    words = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return code, re.findall(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", words)


def follow(browser: Browser, link: str, clicks: list[str], last: str) -> str:
    """Open a link, click what the page says, and see what is there once the last has come."""
    page = browser.new_context().new_page()
    page.goto(link)
    for word in clicks:
        page.click(f"a:text-is('{word}')")
    page.wait_for_selector("pre")
    page.get_by_text(last).first.wait_for()
    shown = page.inner_text("main")
    page.context.close()
    return shown


def test_the_readme_leads_to_the_first_message(browser: Browser) -> None:
    (block, ending), clicks = code_and_words(section(ROOT / "README.md", "In a browser"), "console")
    with Console() as console:
        for command, expected in commands(block):
            output = console.run(command)
            assert is_shown(output, expected), f"{command}\n{output}instead of\n{expected}"
        shown = follow(browser, output.strip(), clicks, "arrived in")
        for command, _ in commands(ending):
            console.run(command)
    assert clicks == ["Queues", "welcome", "first message"]
    assert "Hello, browser!" in shown
    assert "arrived in" in shown


def test_the_page_of_the_console_leads_there_from_a_terminal(browser: Browser) -> None:
    """`serve` in the foreground, on a terminal, prints the link itself."""
    (block,), clicks = code_and_words(section(ROOT / "docs/console.md", "The first message"), "sh")
    *before, serve = (shlex.split(line) for line in block.splitlines())
    for words in before:
        subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    master, terminal = pty.openpty()
    service = subprocess.Popen(
        [sys.executable, "-m", *serve, *ANY_PORTS], stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    try:
        said = ""
        while not (found := LINK.search(said)):
            said += os.read(master, 65536).decode()
        shown = follow(browser, found[0], clicks, "order 1")
    finally:
        service.terminate()
        assert service.wait(60) == 0
        os.close(master)
    assert clicks == ["Queues", "orders"]
    assert "order 1" in shown
    assert '<order no="1"/>' in shown
