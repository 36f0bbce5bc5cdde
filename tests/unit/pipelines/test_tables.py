"""Tables of a file, key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openmsmq.pipelines.tables import PipelineFileError, TomlTable


def table(**values: Any) -> TomlTable:
    return TomlTable("source", values, Path("/files"))


def test_values_of_all_kinds() -> None:
    made = table(a="x", b=["x", "y"], c=3, d=True, e="f/g", f={"g": "h"}, h=[{"i": "j"}])
    assert made.text("a") == "x"
    assert made.texts("a") == ("x",)
    assert made.texts("b") == ("x", "y")
    assert made.whole("c") == made.number("c") == 3
    assert made.number("z") is None
    assert made.flag("d") is True
    assert made.path("e") == Path("/files/f/g")
    assert made.mapping("f") == {"g": "h"}
    assert [one.text("i") for one in made.tables("h")] == ["j"]
    assert made.text("y", "default") == "default"
    assert made.table("x").text("y", "") == ""
    made.done()


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda t: t.text("n"), "source.n is 3: a text is needed"),
        (lambda t: t.text("empty"), "source.empty is '': a text is needed"),
        (lambda t: t.text("missing"), "source.missing is missing"),
        (lambda t: t.text("empti"), "source.empti is missing; is it 'empty'?"),
        (lambda t: t.texts("mixed"), "source.mixed is ['x', 1]: a text or a list of texts"),
        (lambda t: t.texts("none"), "source.none is an empty list"),
        (lambda t: t.whole("zero"), "source.zero is 0: a whole number from 1 on is needed"),
        (lambda t: t.whole("flag"), "source.flag is True: a whole number"),
        (lambda t: t.flag("n"), "source.n is 3: true or false is needed"),
        (lambda t: t.path("url"), "source.url is 's3://x': give a path that the driver"),
        (lambda t: t.table("n"), "source.n must be a table, [source.n]"),
        (lambda t: t.tables("n"), "source.n must be a list of tables, [[source.n]]"),
        (lambda t: t.mapping("none"), "source.none must be a table of texts"),
        (lambda t: t.choice("word", ("keep", "remove")), "'kep'; did you mean 'keep'?"),
    ],
)
def test_a_wrong_value_is_reported_with_its_key(read: Any, words: str) -> None:
    made = table(
        n=3, empty="", mixed=["x", 1], none=[], zero=0, flag=True, url="s3://x", word="kep"
    )
    with pytest.raises(PipelineFileError) as caught:
        read(made)
    assert words in str(caught.value)


def test_an_unknown_key_is_reported_with_the_nearest_one() -> None:
    made = table(queue="x", subscripton="y")
    made.text("queue")
    made.text("subscription", "spark")
    with pytest.raises(
        PipelineFileError, match=r"'subscripton' in .source.; did you mean 'subscription'"
    ):
        made.done()


def test_unknown_keys_of_inner_tables_are_reported() -> None:
    made = table(rules=[{"wen": "x"}])
    [rule] = made.tables("rules")
    rule.text("when", "")
    with pytest.raises(PipelineFileError, match=r"no key 'wen' in .source.rules.1.."):
        made.done()
