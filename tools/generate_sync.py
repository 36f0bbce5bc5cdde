"""Writes client/sync.py from client/aio.py: `python -m tools.generate_sync`.

The two APIs differ in `async` and `await` and in nothing else.
"""

from __future__ import annotations

import re

from tools.generate_docs import ROOT

SOURCE = ROOT / "src" / "openmsmq" / "client" / "aio.py"
SHADOW = ROOT / "src" / "openmsmq" / "client" / "sync.py"
WORDS = (
    (r"\basync def\b", "def"),
    (r"\(await (self\._\w+\([^()]*\))\)", r"\1"),
    (r"\bawait ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"LoopDriver", "ThreadDriver"),
)
TITLE = '"""The sync API, written from `aio.py` by `make fix`: change that file, not this one."""'


def sync_text() -> str:
    """The text of the sync API."""
    text = SOURCE.read_text()
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return TITLE + text[text.index('"""', 3) + 3 :]


if __name__ == "__main__":
    SHADOW.write_text(sync_text())
