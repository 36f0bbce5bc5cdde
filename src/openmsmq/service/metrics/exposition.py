"""The text that Prometheus reads: samples gathered by metric, in its format 0.0.4."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A metric: its name, what kind of number it is, what that means, and its labels."""

    name: str
    type: str
    "gauge, counter or histogram."
    help: str
    labels: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The lines before its samples."""
        words = self.help.replace("\\", r"\\").replace("\n", r"\n")
        return f"# HELP {self.name} {words}\n# TYPE {self.name} {self.type}\n"


class Histogram:
    """How often a number was at most so large."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        "By the first bound that is not below the number; the last is for all larger ones."
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a number."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Page:
    """The samples of one moment; what there is none of is still described."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)
        self.lines: dict[str, list[str]] = {metric.name: [] for metric in self._metrics}
        "The samples of each metric."
        self._labels = {metric.name: metric.labels for metric in self._metrics}

    def add(self, name: str, value: float, *labels: str) -> None:
        """One sample, with the values of the metric's labels."""
        text = ""
        if labels:
            pairs = zip(self._labels[name], labels, strict=True)
            text = "{" + ",".join(f'{label}="{escaped(given)}"' for label, given in pairs) + "}"
        self.lines[name].append(f"{name}{text} {number(value)}\n")

    def add_histogram(self, name: str, histogram: Histogram) -> None:
        """All samples of a histogram."""
        lines = self.lines[name]
        counts = list(accumulate(histogram.counts))
        for bound, count in zip((*histogram.bounds, float("inf")), counts, strict=True):
            lines.append(f'{name}_bucket{{le="{number(bound)}"}} {count}\n')
        lines.append(f"{name}_sum {number(histogram.total)}\n{name}_count {counts[-1]}\n")

    def text(self) -> str:
        """All of it."""
        parts: list[str] = []
        for metric in self._metrics:
            parts.append(metric.head)
            parts += self.lines[metric.name]
        return "".join(parts)


def escaped(value: str) -> str:
    """A label's value as it stands between quotes."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    """A number, whole ones without a fraction."""
    if type(value) is int:  # as most are, and there are many
        return str(value)
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
