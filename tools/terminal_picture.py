"""Draws docs/pictures/session.svg: a session in a terminal, run for it with the real commands."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

SESSION = r"""
export OPENMSMQ_DATA=$PWD/data
run() { echo "\$ $*"; "$@"; }
run openmsmq queue create orders --transactional --journal
SEND="openmsmq message send orders --body order --time-to-be-received 1 --dead-letter"
echo "\$ ID=\$($SEND)"
ID=$($SEND)
echo "\$ sleep 2"; sleep 2
echo "\$ openmsmq explain \"\$ID\""
openmsmq explain "$ID"
run openmsmq doctor || true
"""
STYLE = (
    "text{font:13px monospace;white-space:pre;fill:#24292f}rect{fill:#f6f8fa;stroke:#d0d7de}"
    ".c{font-weight:bold;fill:#0550ae}"
    "@media (prefers-color-scheme: dark){text{fill:#e6edf3}rect{fill:#161b22;stroke:#30363d}"
    ".c{fill:#79c0ff}}"
)
COLUMN, LINE, MARGIN = 7.9, 18, 16


def record() -> list[str]:
    """What a terminal shows; paths and empty lines at the end are left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        environment = {"PATH": path, "COLUMNS": "150", "NO_COLOR": "1", "HOME": folder}
        done = subprocess.run(  # noqa: S603
            ["/bin/bash", "-c", SESSION],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return done.stdout.rstrip().replace(folder, ".").splitlines()


def draw(lines: Iterable[str]) -> str:
    """The lines as an SVG that can be read on dark and on light."""
    shown = [line.rstrip() for line in lines]
    width = round(2 * MARGIN + COLUMN * max(map(len, shown)))
    height = 2 * MARGIN + LINE * len(shown)
    texts = [
        f"<text{' class=' + chr(34) + 'c' + chr(34) if line.startswith('$ ') else ''}"
        f' x="{MARGIN}" y="{MARGIN + LINE * number + 13}">{escape(line)}</text>'
        for number, line in enumerate(shown)
        if line
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            "<title>A session on the command line: a message that expires, and why</title>",
            f"<style>{STYLE}</style>",
            f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8"/>',
            *texts,
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    Path("docs/pictures/session.svg").write_text(draw(record()))
