"""The catalogue of metrics: well formed, and the page and the dashboard speak of nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from openmsmq.engine.storage.history import Event
from openmsmq.service.metrics.exposition import Metric
from openmsmq.service.metrics.names import METRICS, PROCESS_METRICS
from openmsmq.service.metrics.samples import NOT_COUNTED

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "metrics.md").read_text()
ASSETS = ROOT / "src" / "openmsmq" / "assets"
DASHBOARD: dict[str, Any] = json.loads((ASSETS / "grafana.json").read_text())
NAME = re.compile(r"\b(?:windows_msmq|msmq|openmsmq|process)_\w+\b")
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\| ([^|]+) \|$", re.MULTILINE)
BY_NAME = {metric.name: metric for metric in METRICS}


def exported() -> set[str]:
    """The names of all samples there can be."""
    parts = ("_bucket", "_sum", "_count")
    histograms = [metric.name for metric in METRICS if metric.type == "histogram"]
    plain = BY_NAME.keys() - set(histograms)
    return plain | {name + part for name in histograms for part in parts} | PROCESS_METRICS.keys()


def queries() -> list[str]:
    """All that the dashboard asks for."""
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    variables = DASHBOARD["templating"]["list"]
    return targets + [item["definition"] for item in variables if "definition" in item]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_are_as_prometheus_wants_them(metric: Metric) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+", metric.name)
    assert metric.type in ("gauge", "counter", "histogram")
    assert metric.name.endswith("_total") == (metric.type == "counter")
    assert metric.help.endswith(".")


def test_no_name_means_two_things() -> None:
    """Newer formats name a counter without its `_total`."""
    families = [metric.name.removesuffix("_total") for metric in METRICS]
    assert len(set(families)) == len(families)


def test_the_names_of_windows_are_unchanged() -> None:
    for what in ("messages", "bytes"):
        for where in ("queue", "journal_queue"):
            metric = BY_NAME[f"windows_msmq_{what}_in_{where}"]
            assert (metric.type, metric.labels) == ("gauge", ("name",))
    for what in ("message_count", "bytes_in_queue", "unprocessed_message_count", "state"):
        metric = BY_NAME[f"msmq_outgoing_queue_{what}"]
        assert (metric.type, metric.labels) == ("gauge", ("queue_name", "connection_host"))


def test_the_page_lists_every_metric_with_its_meaning() -> None:
    listed = [
        Metric(name, kind, meaning, tuple(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels, meaning in ROW.findall(PAGE)
    ]
    assert sorted(listed) == sorted(METRICS)
    for name, meaning in PROCESS_METRICS.items():
        assert f"| `{name}` | {meaning} |" in PAGE


def test_the_page_lists_every_event() -> None:
    listed = PAGE.partition("The values of `event`")[2].partition("\n\n")[0]
    words = {event.word for event in Event if event not in NOT_COUNTED}
    assert set(re.findall(r"`(\w+)`", listed)) - {"event"} == words


def test_the_page_speaks_of_no_other_metric() -> None:
    spoken_of = set(NAME.findall(PAGE)) - {"windows_msmq_", "msmq_outgoing_"}
    assert spoken_of <= exported() | BY_NAME.keys()


def test_the_dashboard_asks_for_nothing_that_is_not_there() -> None:
    asked = {name for query in queries() for name in NAME.findall(query)}
    assert asked <= exported()
    assert len(asked) > 20


@pytest.mark.parametrize("query", queries())
def test_queries_are_balanced(query: str) -> None:
    for opening, closing in ("()", "{}", "[]"):
        assert query.count(opening) == query.count(closing)


def test_the_dashboard_can_be_imported() -> None:
    panels = DASHBOARD["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    assert {"title", "uid", "schemaVersion", "templating"} <= DASHBOARD.keys()
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        rows = range(place["y"], place["y"] + place["h"])
        cells = {(x, y) for x in columns for y in rows}
        assert not cells & taken, f"{panel['title']} lies on another panel"
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_alert_rules_name_only_metrics_that_exist() -> None:
    text = (ASSETS / "alerts.yml").read_text()
    expressions = re.findall(r"^ +expr: (.+)$", text, re.MULTILINE)
    assert len(expressions) == text.count("- alert: ") >= 10
    for expression in expressions:
        assert set(NAME.findall(expression)) <= exported()
        events = re.findall(r'event="(\w+)"', expression)
        assert set(events) <= {event.word for event in Event}
