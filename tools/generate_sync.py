"""Writes the sync client from the async one: `python -m tools.generate_sync`.

The two APIs differ in `async` and `await` and in nothing else.
"""

from __future__ import annotations

import re

from tools.generate_docs import ROOT

CLIENT = ROOT / "src" / "openmsmq" / "client"
SHADOWS = {
    "aio.py": "sync.py",
    "backend_aio.py": "backend_sync.py",
    "cursor_aio.py": "cursor_sync.py",
    "stream_aio.py": "stream_sync.py",
    "subscription_aio.py": "subscription_sync.py",
    "transaction_aio.py": "transaction_sync.py",
    "embedded_aio.py": "embedded_sync.py",
    "remote_aio.py": "remote_sync.py",
    "remote_calls_aio.py": "remote_calls_sync.py",
    "remote_parts_aio.py": "remote_parts_sync.py",
    "participants_aio.py": "participants_sync.py",
    "recovering_aio.py": "recovering_sync.py",
    "unit_aio.py": "unit_sync.py",
}
"What is written from what; a source that is not there yet has no shadow."
WORDS = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"(?<!\w)\(await (\w+(?:\.\w+)*\([^()]*\))\)", r"\1"),
    (r"\bawait ", ""),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"Coroutine\[Any, Any, (\w+)\]", r"\1"),
    (r"import Callable, Coroutine, Sequence", "import Callable, Sequence"),
    (r"client\.aio\b", "client.sync"),
    (r"\bLoopDriver\b", "ThreadDriver"),
    (r"\b(backend|cursor|stream|subscription|transaction|embedded)_aio\b", r"\1_sync"),
    (
        r"\b(remote|remote_calls|remote_parts|channel|waiting|participants|recovering|unit)_aio\b",
        r"\1_sync",
    ),
)


def sync_texts() -> dict[str, str]:
    """The sync modules by file name."""
    return {
        shadow: _sync_text(source, (CLIENT / source).read_text())
        for source, shadow in SHADOWS.items()
        if (CLIENT / source).exists()
    }


def _sync_text(source: str, text: str) -> str:
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    title = f'"""Written from `{source}` by `make fix`: change that file, not this one."""'
    return title + text[text.index('"""', 3) + 3 :]


if __name__ == "__main__":
    for name, text in sync_texts().items():
        (CLIENT / name).write_text(text)
