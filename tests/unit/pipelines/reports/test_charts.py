"""Charts as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.pipelines.reports.charts import HEIGHT, WIDTH, bars, lines, ticks

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script>&'


def texts(drawing: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def test_a_bar_for_each_figure_the_longest_as_long_as_there_is_room() -> None:
    drawing = bars("Speed", {"ours": 200, "theirs": 50, "none": 0}, first="ours")
    found = [e for e in ElementTree.fromstring(drawing).iter(f"{SVG}rect")]
    widths = [int(e.attrib["width"]) for e in found]
    assert widths[0] == 4 * widths[1] > 0 == widths[2]
    assert [e.attrib["class"] for e in found] == ["ours", "other", "other"]
    assert texts(drawing) == ["Speed", "ours", "200", "theirs", "50", "none", "0"]


def test_without_a_first_one_all_are_ours() -> None:
    assert "other" not in bars("t", {"a": 1, "b": 2}).partition("</style>")[2]


@pytest.mark.parametrize("figures", [{}, {"a": 0.0}])
def test_nothing_to_draw_is_drawn(figures: dict[str, float]) -> None:
    assert texts(bars("empty", figures))[0] == "empty"
    assert texts(lines("empty", {"a": []}, x_unit="s"))[0] == "empty"


def test_names_of_others_are_text_and_nothing_else() -> None:
    for drawing in (
        bars(HOSTILE, {HOSTILE[:20]: 1}),
        lines(HOSTILE, {HOSTILE[:20]: [(0, 1)]}, x_unit=HOSTILE),
    ):
        assert "<script" not in drawing
        assert {HOSTILE, HOSTILE[:20]} <= set(texts(drawing))


def test_of_a_long_name_the_end_is_shown() -> None:
    shown = texts(bars("t", {"x" * 99 + "end": 1}))[1]
    assert shown.startswith("…")
    assert shown.endswith("end")
    assert len(shown) == 28


def test_curves_stay_inside_the_drawing() -> None:
    drawing = lines("t", {"a": [(0, 0), (10, 1000)], "b": [(5, 10)]}, x_unit="s", shaded=(2.0, 4.0))
    root = ElementTree.fromstring(drawing)
    for line in root.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    assert len([e for e in root.iter() if e.get("class") == "shade"]) == 1


@given(st.floats(1e-6, 1e12))
def test_ticks_are_few_and_reach_up_to_the_top(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert 2 <= len(found) <= 7
    assert most * 0.7 <= found[-1] <= most * (1 + 1e-9) or len(found) <= 4
