"""Regular expressions and JSON paths in filters."""

from __future__ import annotations

import pytest
from tests.unit.console.test_filters import message

from openmsmq.console.bodies.contents import (
    ContentError,
    matches_expression,
    matches_path,
    texts_of,
)
from openmsmq.console.filters import parse_filter
from openmsmq.console.limits import CONTENT_MAX

JSON = '{"customer": {"name": "ACME Ltd"}, "lines": [{"price": 5}, {"price": 120.5}], "paid": true}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"order \d+", True),
        (r"ORDER 4711$", True),
        (r"acme\s+ltd", True),
        (r"^acme", False),
        (r"(a+)+$", False),
    ],
)
def test_an_expression_is_looked_for_in_label_and_body(text: str, found: bool) -> None:
    order = message(JSON, label="order 4711")
    assert matches_expression(text)(order) is found
    assert matches_expression(text)(message(JSON.encode(), label="order 4711")) is found


def test_no_expression_takes_long() -> None:
    """A hundred thousand ways to read this: a backtracking matcher would not come back."""
    assert not matches_expression(r"(a|aa)+$")(message(b"a" * 100_000 + b"b"))


@pytest.mark.parametrize("text", ["(", "a{1000000}", r"\1", "(?P<a>", "[z-a]"])
def test_what_is_no_expression_is_said_so(text: str) -> None:
    with pytest.raises(ContentError, match="re: "):
        matches_expression(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$.customer.name", True),
        ("$.customer.nothing", False),
        ('$.customer.name=="ACME Ltd"', False),  # quotes are the filter's
        ("$.customer.name==ACME Ltd", True),
        ("$['customer']['name']!=ACME", True),
        ("$.lines[1].price>100", True),
        ("$.lines[0].price>100", False),
        ("$.lines[*].price>100", True),
        ("$.lines[*].price>=121", False),
        ("$.lines[7]", False),
        ("$.paid==true", True),
        ("$.paid>0", False),
        ("$.lines.price", False),
    ],
)
def test_a_path_finds_values(text: str, found: bool) -> None:
    assert matches_path(text)(message(JSON)) is found
    assert matches_path(text)(message(JSON.encode())) is found
    assert not matches_path(text)(message(b"<no-json/>"))


@pytest.mark.parametrize("text", ["customer", "$customer", "$.a b", "$.a>x", "$" + ".a" * 30])
def test_what_is_no_path_is_said_so(text: str) -> None:
    with pytest.raises(ContentError, match="json: "):
        matches_path(text)


def test_a_filter_takes_both() -> None:
    order = message(JSON, label="order 4711")
    for text in (
        r"re:/order \d+/ priority:3",
        r're:"order 4711"',
        r"re:/acme (ltd|inc)/ -json:$.paid==false",
        'json:$.customer.name=="ACME Ltd"',
        "json:$.lines[*].price>100 OR label:nothing",
    ):
        found = parse_filter(text)
        assert found.matches(order), text
        assert found.reads_bodies


def test_long_bodies_are_looked_at_in_part() -> None:
    assert max(map(len, texts_of(b"x" * (CONTENT_MAX + 10)))) == CONTENT_MAX
    assert not matches_expression("end$")(message(b"x" * CONTENT_MAX + b"end"))
