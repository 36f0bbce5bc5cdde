"""Spans: found, cut and taken."""

from __future__ import annotations

from random import Random

from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.queues.spans import Span, Spans
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.engine.storage.runs import MessageRun

RUN = MessageRun(1, 0, Record(5, 100_000, 3, NEVER), [1000] * 100)


def span(first: int, end: int, holder: str) -> Span[str]:
    return Span(first, end, holder, RunSlice(RUN, first, end))


def test_a_message_is_found_in_its_span() -> None:
    spans: Spans[str] = Spans()
    spans.add(span(10, 20, "a"))
    spans.add(span(2, 5, "b"))
    found = [spans.at(lookup) for lookup in (1, 2, 4, 5, 9, 10, 19, 20)]
    assert [one and one.holder for one in found] == [None, "b", "b", None, None, "a", "a", None]
    assert (spans.count, [one.first for one in spans]) == (13, [2, 10])


def test_what_is_taken_from_the_middle_leaves_both_ends() -> None:
    spans: Spans[str] = Spans()
    spans.add(span(10, 20, "a"))
    (taken,) = spans.take(13, 15)
    assert (taken.first, taken.end, taken.read.first, taken.read.end) == (13, 15, 13, 15)
    assert [(one.first, one.end, len(one.read)) for one in spans] == [(10, 13, 3), (15, 20, 5)]


def test_spans_say_the_same_as_an_entry_for_each_message() -> None:
    random = Random(7)
    spans: Spans[str] = Spans()
    single: dict[int, str] = {}
    for _ in range(2000):
        first = random.randrange(95)
        end = random.randint(first + 1, min(100, first + 12))
        if random.random() < 0.5 and not any(at in single for at in range(first, end)):
            holder = random.choice("abc")
            spans.add(span(first, end, holder))
            single.update(dict.fromkeys(range(first, end), holder))
        else:
            taken = {at: one.holder for one in spans.take(first, end) for at in _all(one)}
            before = {at: single.pop(at) for at in range(first, end) if at in single}
            assert taken == before
        assert spans.count == len(single)
        assert {at: one.holder for one in spans for at in _all(one)} == single
        found = [spans.at(at) for at in range(100)]
        assert [one and one.holder for one in found] == [single.get(at) for at in range(100)]
        within = {at for one in spans.within(first, end) for at in _all(one)}
        assert within >= {at for at in range(first, end) if at in single}


def _all(one: Span[str]) -> range:
    assert (one.read.first, one.read.end) == (one.first, one.end)
    return range(one.first, one.end)
