"""Reports as HTML pages."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.pipelines.reports.charts import bars
from openmsmq.pipelines.reports.page import CELL_MAX, ReportPage, text

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


class Tags(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def full(words: str) -> str:
    report = ReportPage(words, words)
    report.facts({words: words})
    report.heading(words)
    report.paragraph(words)
    report.table([words, f">{words}"], [[words, 1_000_000], [None, words]])
    report.chart(bars(words, {words: 1}))
    return report.page()


EMPTY = Tags(full("words"))


def test_a_page_says_what_it_was_given() -> None:
    assert {"words", "1,000,000"} <= set(EMPTY.words)
    assert {"table", "svg", "h1", "h2"} <= EMPTY.tags


def test_what_others_wrote_is_text() -> None:
    found = Tags(full(HOSTILE))
    assert (found.tags, found.attributes) == (EMPTY.tags, EMPTY.attributes)
    assert HOSTILE in found.words


@given(st.text(max_size=50))
def test_no_text_makes_tags(words: str) -> None:
    found = Tags(full(words))
    assert found.tags <= EMPTY.tags
    assert found.attributes <= EMPTY.attributes


def test_nothing_is_run_and_nothing_is_loaded() -> None:
    page = full("words")
    assert "script" not in page
    assert "default-src 'none'" in page
    assert not {"src", "href", "style"} & EMPTY.attributes
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\u202e", "\ud800"])
def test_what_cannot_be_seen_is_shown_as_unknown(character: str) -> None:
    assert text(f"a{character}b") == "a\ufffdb"


def test_long_texts_are_cut() -> None:
    assert text("x" * (CELL_MAX + 1)) == "x" * CELL_MAX + "…"
    assert text("x" * CELL_MAX) == "x" * CELL_MAX


def test_a_page_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "page.html"
    ReportPage("first", "").write(path)
    ReportPage("second", "").write(path)
    assert "second" in path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]
