"""The page of all limits."""

from __future__ import annotations

import ast

import pytest
from tools.generate_limits import Bound, docstrings, page


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4 << 20, "Bytes", "4 MiB"),
        (65_000, "Bytes", "65,000 bytes"),
        (10_000, "Messages", "10,000 messages"),
        (0.005, "Seconds", "0.005 seconds"),
        (30.0, "Seconds", "30 seconds"),
        (1.0, "Seconds", "1 second"),
        (1800, "Seconds", "30 minutes"),
        ((64, 1000), "Messages", "64 to 1,000 messages"),
    ],
)
def test_a_value_is_shown_with_its_unit(value: object, unit: str, text: str) -> None:
    assert Bound("X", value, f"{unit} of something.", "").text == text


def test_a_constant_has_the_docstring_that_follows_it() -> None:
    tree = ast.parse('A: Final = 1\n"Bytes of a."\nB: Final = 2\nC: Final = 3\n"Bytes of c."')
    assert list(docstrings(tree)) == [("A", "Bytes of a."), ("B", ""), ("C", "Bytes of c.")]


def test_the_page_says_what_happens_at_each_limit() -> None:
    lines = page().splitlines()
    packet = next(line for line in lines if "`PACKET_SIZE_MAX`" in line)
    assert "| 4 MiB |" in packet
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    assert len(rows) > 40
    assert all(len(row) == 4 for row in rows)
