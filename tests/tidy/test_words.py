"""The words of the product: those of the field are found, private ones are not.

Pages, help, errors, metrics, log lines, reports, the source and the tests have none of the private
words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

from openmsmq.errors.base import MQError
from openmsmq.service.metrics.names import METRICS
from openmsmq.service.options import OPTIONS

PRIVATE = {
    "somebody": "a program, a consumer, another process",
    "nobody": "no consumer, no process; or the passive",
    "whoever": "the one that is meant",
    "anybody": "everyone, any program",
    "told": "notified, reported, configured, answered",
    "sees to": "handles",
    "lets go": "releases, removes",
    "let go": "release, remove",
    "what waits": "messages that wait, the backlog",
    "no harm": "idempotent",
    "at work": "active",
    "to look after": "problems found",
    "door": "listener",
    "doors": "listeners",
    "crowded": "full",
    "bury": "dead-letter",
    "settle": "finalize",
}
"Private words, and what to say instead."
SEARCHED = re.compile(rf"\b({'|'.join(PRIVATE)})\b", re.IGNORECASE)
ALLOWED = {
    ("src/openmsmq/security/sid.py", "nobody"): "the name of the well-known SID S-1-0-0",
    ("src/openmsmq/cli/packets/decode.py", "told"): "told apart: distinguished",
    ("docs/cli.md", "told"): "told apart: distinguished (help of `decode`)",
}
FIELD = (
    *("deduplication", "idempotent", "backpressure", "flow control", "at-least-once"),
    *("at-most-once", "exactly once", "consumer", "prefetch", "acknowledgement", "locked"),
    *("invisible", "poison message", "dead letter", "delayed delivery", "store and forward"),
    *("two-phase", "presumed abort", "thread-safe", "fork-safe", "lag", "committed", "retention"),
    *("time to live", "quota", "correlation id", "durable subscription", "session", "listener"),
)
"What a reader searches for who knows another broker."
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path != Path(__file__)]


def found_in(text: str, path: Path) -> list[str]:
    """The private words of a text that are not allowed in this file."""
    name = path.relative_to(ROOT).as_posix()
    words = {found.lower() for found in SEARCHED.findall(text)}
    return sorted(word for word in words if (name, word) not in ALLOWED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_private_words(page: Path) -> None:
    wrong = found_in(page.read_text(), page)
    assert not wrong, {word: PRIVATE[word] for word in wrong}


@pytest.mark.parametrize("word", FIELD)
def test_a_word_of_the_field_is_found_in_the_docs(word: str) -> None:
    text = " ".join(" ".join(page.read_text() for page in PAGES).split()).lower()
    assert word in text


def test_errors_options_and_metrics_have_no_private_words() -> None:
    def classes(kind: type[MQError]) -> Iterator[type[MQError]]:
        yield kind
        for below in kind.__subclasses__():
            yield from classes(below)

    texts = {kind.__name__: kind().explanation for kind in classes(MQError) if _is_simple(kind)}
    texts |= {name: option.help for name, option in OPTIONS.items()}
    texts |= {metric.name: metric.help for metric in METRICS}
    wrong = {name: text for name, text in texts.items() if SEARCHED.search(text)}
    assert not wrong


def _is_simple(kind: type[MQError]) -> bool:
    return kind.__init__ is MQError.__init__


def test_texts_for_users_have_no_private_words() -> None:
    """String literals: errors, log lines, help of commands, reports; not docstrings."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for path in SOURCES
        for line, text in _texts(ast.parse(path.read_text()))
        if (words := found_in(text, path))
    ]
    assert not wrong, "\n".join(wrong)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The string literals of a module that are no docstrings, and the docstrings of commands."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        is_command = isinstance(node, ast.FunctionDef) and any(
            "command" in ast.unparse(one) or "group" in ast.unparse(one)
            for one in node.decorator_list
        )
        body = getattr(node, "body", None)
        for place, item in enumerate(body if isinstance(body, list) else ()):
            is_string = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
            if is_string and not (is_command and place == 0):
                docstrings.add(id(item.value))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("files", [SOURCES, TESTS], ids=["source", "tests"])
def test_code_has_no_private_words(files: list[Path]) -> None:
    """Docstrings, comments and names."""
    wrong = [
        f"{path.relative_to(ROOT)}: {', '.join(words)}"
        for path in files
        if (words := found_in(path.read_text().replace("_", " "), path))
    ]
    assert not wrong, "\n".join(wrong)
