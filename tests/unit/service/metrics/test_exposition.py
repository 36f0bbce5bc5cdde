"""The text that Prometheus reads, read back by its own parser."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from openmsmq.service.metrics.exposition import Histogram, Metric, Page, number

PLAIN = Metric("plain", "gauge", "With a \\ and a\nnew line.")
LABELLED = Metric("labelled", "gauge", "By two.", ("one", "two"))
SIZES = Metric("sizes", "histogram", "Of things.")


def samples(text: str, name: str) -> list[tuple[str, dict[str, str], float]]:
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        if family.name == name
        for sample in family.samples
    ]


def test_a_metric_without_samples_is_described() -> None:
    text = Page([PLAIN]).text()
    assert text == "# HELP plain With a \\\\ and a\\nnew line.\n# TYPE plain gauge\n"


def test_samples_stand_below_their_metric_in_whatever_order_they_came() -> None:
    page = Page([PLAIN, LABELLED])
    page.add("labelled", 1, "a", "b")
    page.add("plain", 2)
    page.add("labelled", 3, "c", "d")
    families = list(text_string_to_metric_families(page.text()))
    assert [family.name for family in families] == ["plain", "labelled"]
    assert families[0].documentation == "With a \\ and a\nnew line."
    assert samples(page.text(), "labelled") == [
        ("labelled", {"one": "a", "two": "b"}, 1),
        ("labelled", {"one": "c", "two": "d"}, 3),
    ]


def test_every_label_needs_a_value() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Page([LABELLED]).add("labelled", 1, "a")


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from('\\"\n'))
)
def test_any_label_comes_back_as_it_was(value: str) -> None:
    page = Page([LABELLED])
    page.add("labelled", 1, value, "")
    assert samples(page.text(), "labelled") == [("labelled", {"one": value, "two": ""}, 1)]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.just(inf) | st.integers(0, 1 << 50))
def test_any_number_comes_back_as_it_was(value: float) -> None:
    assert float(number(value)) == value


def test_whole_numbers_have_no_fraction() -> None:
    assert [number(value) for value in (True, 3, 3.0, 0.25, inf)] == ["1", "3", "3", "0.25", "+Inf"]


def test_a_histogram_counts_what_is_at_most_as_large_as_each_bound() -> None:
    histogram = Histogram((1, 2.5))
    for value in (0.5, 1, 2, 2.5, 7):
        histogram.observe(value)
    page = Page([SIZES])
    page.add_histogram("sizes", histogram)
    assert samples(page.text(), "sizes") == [
        ("sizes_bucket", {"le": "1"}, 2),
        ("sizes_bucket", {"le": "2.5"}, 4),
        ("sizes_bucket", {"le": "+Inf"}, 5),
        ("sizes_sum", {}, 13),
        ("sizes_count", {}, 5),
    ]
