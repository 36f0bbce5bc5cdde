"""Writes the sync client from the async one: `python -m tools.generate_sync`.

The two APIs differ in `async` and `await` and in nothing else.
"""

from __future__ import annotations

import re

from tools.generate_docs import ROOT

CLIENT = ROOT / "src" / "openmsmq" / "client"
BY_HAND = {"__init__.py", "channel.py", "sleep.py"}
"What differs in more than words."
WORDS = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"(?<!\w)\(await (\w+(?:\.\w+)*\([^()]*\))\)", r"\1"),
    (r"\bawait ", ""),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"Coroutine\[Any, Any, (\w+)\]", r"\1"),
    (r"import Callable, Coroutine, Sequence", "import Callable, Sequence"),
    (r"\bLoopDriver\b", "ThreadDriver"),
    (r"\bclient\._async\b", "client._sync"),
)


def sync_texts() -> dict[str, str]:
    """The sync modules by file name."""
    return {
        path.name: _sync_text(path.name, path.read_text())
        for path in sorted((CLIENT / "_async").glob("*.py"))
        if path.name not in BY_HAND
    }


def _sync_text(source: str, text: str) -> str:
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    title = f'"""Written from `_async/{source}` by `make fix`: change that file, not this one."""'
    return title + text[text.index('"""', 3) + 3 :]


if __name__ == "__main__":
    for name, text in sync_texts().items():
        (CLIENT / "_sync" / name).write_text(text)
