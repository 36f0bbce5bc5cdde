"""What the pages about the service promise has an end-to-end test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\w+\.md) \| (.+) \| (\S+)::(\w+) \|$", re.MULTILINE)
PROMISES = ROW.findall((ROOT / "tests" / "e2e" / "promises.md").read_text())
UNIT = {"A file that has 16 MiB", "More than 256 files"}
"Promises about amounts that an end-to-end test would take too long to write."


def words(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text().split())


def rows(page: str, header: str) -> list[str]:
    """The first column of the table with this header line."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    at = lines.index(header) + 2
    table = []
    while lines[at].startswith("|"):
        table.append(lines[at].split("|")[1].strip())
        at += 1
    return table


@pytest.mark.parametrize(("page", "promise", "module", "test"), PROMISES)
def test_a_promise_is_on_its_page_and_has_its_test(
    page: str, promise: str, module: str, test: str
) -> None:
    assert promise in words(page)
    is_unit = module.startswith("tests/")
    assert is_unit is (promise in UNIT), "an end-to-end test is needed"
    path = ROOT / module if is_unit else ROOT / "tests" / "e2e" / module
    tree = ast.parse(path.read_text())
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("page", "header"), [("service.md", "| Signal | What happens |"), ("recording.md", "| | |")]
)
def test_every_row_of_the_tables_about_signals_and_recordings_is_a_promise(
    page: str, header: str
) -> None:
    known = {promise for on, promise, _, _ in PROMISES if on == page}
    assert rows(page, header)
    assert set(rows(page, header)) <= known
