"""Reports in a real browser: they are shown whole, and nothing in them runs or is loaded."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openmsmq.pipelines.reports import audit_page
from openmsmq.pipelines.reports import dead_letters as deadletters
from openmsmq.pipelines.reports.page import ReportPage
from tests.unit.pipelines.reports import test_audit_page
from tests.unit.pipelines.reports import test_dead_letters as test_deadletters

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
AT = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
PAGES = {
    "dead letters": deadletters.page(test_deadletters.FULL, ("here",), AT),
    "audit": audit_page.page(test_audit_page.FULL, AT),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
]


def browse(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    profile = page.parent / "profile"
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--enable-logging=stderr", f"--user-data-dir={profile}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def console(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a page had to complain about."""
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("name", PAGES)
def test_a_browser_shows_a_report_and_has_nothing_to_complain_about(
    name: str, tmp_path: Path
) -> None:
    """Whatever ran or was refused, such as a script or a file from elsewhere, would be reported."""
    path = tmp_path / "page.html"
    PAGES[name].write(path)
    done = browse(path, "--dump-dom")
    assert console(done) == []
    assert re.search(r"<h2>", done.stdout)
    assert "<svg" in done.stdout
    assert not re.search(r"<(script|img|link|iframe)\b", done.stdout)


def test_what_would_run_or_load_is_reported(tmp_path: Path) -> None:
    """The test above can fail."""
    report = ReportPage("page", "")
    report.chart("<script>document.title = 'run'</script><img src='http://127.0.0.1:1/x.png'>")
    path = tmp_path / "page.html"
    report.write(path)
    done = browse(path, "--dump-dom")
    assert len(console(done)) == 2
    assert "<title>page</title>" in done.stdout
