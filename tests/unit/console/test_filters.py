"""Filters: what they find, and that no text is too odd for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq import Message
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.clock import SystemClock
from openmsmq.console.bodies.contents import ContentError
from openmsmq.console.filters import FIELDS, FilterError, is_like, label_shape, parse_filter
from openmsmq.console.limits import SHAPE_MAX
from openmsmq.engine.manager import QueueManager
from openmsmq.names.parse import parse_name
from openmsmq.store.memory import MemoryStore
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def message(body: bytes | str = b"", **fields: object) -> ReceivedMessage:
    """A message as a queue gives it."""
    local = QueueManager(MemoryStore(), SystemClock(), name="here")
    destination = parse_name(r"DIRECT=OS:here\private$\orders")
    sent_time = int(datetime(2026, 7, 1, 10, 0, tzinfo=UTC).timestamp())
    (packet,) = Packer(local.identity).pack_many(
        [Message(body, **fields)],  # type: ignore[arg-type]
        destination,  # type: ignore[arg-type]
        first_id=7,
        sent_time=sent_time,
    )
    return ReceivedMessage(packet, lookup_id=1, arrived=sent_time + 60, message_class=0xC002)


ORDER = message("<order>ACME</order>", label="order 4711", priority=5, app_specific=12)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", True),
        ("label:order*", True),
        ("label:ORDER*", True),
        ("label:order", False),
        ("label:*47??", True),
        ('label:"order 4711"', True),
        ('label:""', False),
        ('response:""', True),
        ('shape:"order #"', True),
        ('shape:"ORDER #"', False),
        ('shape:""', False),
        ("4711", True),
        ("ACME", True),
        ("acme", False),
        ('body:"<order>"', True),
        ("body:nothing", False),
        ("-label:order*", False),
        ("-body:nothing label:*", True),
        ("label:x OR priority:5", True),
        ("label:x OR priority:6", False),
        ("(label:x OR priority:5) app:12", True),
        ("(label:x OR priority:5) app:13", False),
        ("-(label:x OR priority:5)", False),
        ("priority:>4 priority:<6 priority:>=5 priority:<=5", True),
        ("size:>10", True),
        ("size:>10k", False),
        ("class:0xC002", True),
        ("class:49154", True),
        ("class:0", False),
        ("sent:>-3h", True),
        ("sent:>-1h", False),
        ("sent:<2026-07-01T11:00", True),
        ("arrived:>=2026-07-01T10:01:00+00:00", True),
        (r"to:*\private$\orders", True),
        ("is:transactional", False),
        ("-is:transactional is:express", False),
        ("format:*lpwstr", True),
        ("type:31", True),
        ("id:*\\7", True),
    ],
)
def test_a_filter_finds_what_it_says(text: str, found: bool) -> None:
    assert parse_filter(text, NOW).matches(ORDER) is found


@pytest.mark.parametrize(
    "text",
    [
        "label:",
        "nofield:x",
        "(label:x",
        "label:x)",
        "label:x OR",
        "OR label:x",
        "priority:high",
        "sent:yesterday",
        "sent:>-99999999999d",
        "is:good",
        '"open',
        "label:" + "x" * 1000,
        "a " * 60,
        "(" * 60 + "a" + ")" * 60,
        "size:" + "9" * 30,
        "-OR",
        "()",
        '""',
    ],
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(text, NOW)


def test_the_cost_is_known_beforehand() -> None:
    assert not parse_filter("label:x size:>1").reads_bodies
    assert parse_filter("label:x body:y").reads_bodies
    assert parse_filter("word").reads_bodies


WORDS = st.sampled_from(
    [*(f"{field}:" for field in FIELDS), "OR", "-", "(", ")", '"', "\\", "*", "?", ">", "-2h", " "]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=4), st.integers().map(str)), max_size=30))
def test_any_text_is_a_filter_or_a_clear_error(parts: list[str]) -> None:
    try:
        found = parse_filter("".join(parts), NOW)
    except (FilterError, ContentError) as error:
        said = error.text
    else:
        said = str(found.matches(ORDER))
    assert said


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
def test_patterns_mean_what_shells_mean(pattern: str, text: str) -> None:
    from fnmatch import fnmatchcase

    assert is_like(text, pattern) == fnmatchcase(text, pattern)


def test_a_pattern_of_stars_is_not_slow() -> None:
    assert not is_like("a" * 2000, "*a" * 200 + "b")


def test_headers_of_a_service_bus_are_found() -> None:
    found = message("x", extension=encode_nservicebus({"NServiceBus.FailedQ": "orders@shop01"}))
    for text, wanted in (
        ("header.NServiceBus.FailedQ:orders@*", True),
        ('header.nservicebus.failedq:"ORDERS@shop01"', True),
        ("header.NServiceBus.FailedQ:other*", False),
        ("-header.Other:*", True),
    ):
        assert parse_filter(text).matches(found) is wanted, text
    assert not parse_filter("header.x:y").matches(ORDER)
    assert parse_filter("header.x:y").reads_bodies, "where bodies are masked, so are headers"


def test_labels_that_differ_in_digits_have_one_shape() -> None:
    assert label_shape("order 4711 of 12") == "order # of #"
    assert len(label_shape("x" * 500)) == SHAPE_MAX
