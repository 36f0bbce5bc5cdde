"""Rows as messages."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq import Manager, Message
from openmsmq.bodies.headers import decode_headers, encode_nservicebus, encode_rebus
from openmsmq.client.payloads import ANYWHERE
from openmsmq.errors import IllegalPropertyValue, InvalidParameter, MQError
from openmsmq.names.format import parse_format_name
from openmsmq.packet.columns import JoinedPackets
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.spark.arrow import HEADERS
from openmsmq.spark.rows import messages, packets
from openmsmq.types.message import FIELDS
from openmsmq.types.pack import Packer


def test_a_column_of_bodies() -> None:
    batch = pa.RecordBatch.from_pydict({"body": [b"a", None]})
    assert list(messages(batch, "q")) == [("q", [Message(b"a"), Message(b"")])]


def test_nulls_are_left_out() -> None:
    columns = {"value": ["x", None], "label": ["l", None], "priority": [7, None]}
    expected = [Message("x", label="l", priority=7), Message()]
    assert list(messages(pa.RecordBatch.from_pydict(columns), "q")) == [("q", expected)]


def test_rows_name_their_queue_in_order() -> None:
    columns = {"body": [b"1", b"2", b"3", b"4"], "queue": ["a", "a", None, "a"]}
    found = list(messages(pa.RecordBatch.from_pydict(columns), "q"))
    assert [(name, [m.body for m in rows]) for name, rows in found] == [
        ("a", [b"1", b"2"]),
        ("q", [b"3"]),
        ("a", [b"4"]),
    ]


def test_a_value_that_no_message_can_have_is_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"body": [b""], "priority": [8]})
    with pytest.raises(MQError) as caught:
        list(messages(batch, "q"))
    assert isinstance(caught.value, IllegalPropertyValue)


def test_flags_of_a_message() -> None:
    columns = {
        "body": [b"", b""],
        "delivery": ["express", None],
        "journal": [True, None],
        "dead_letter": [True, None],
        "dead_letter_queue": ["dead", None],
        "acknowledge": [5, None],
        "trace": [True, None],
    }
    [(_, [first, second])] = messages(pa.RecordBatch.from_pydict(columns), "q")
    expected = {"journal": True, "dead_letter_queue": "dead", "acknowledge": 5, "trace": True}
    assert first == Message(recoverable=False, **expected)  # type: ignore[arg-type]
    assert second == Message()
    batch = pa.RecordBatch.from_pydict({"body": [b""], "delivery": ["expres"]})
    with pytest.raises(InvalidParameter, match="column delivery: 'expres' is not"):
        list(messages(batch, "q"))


MIXED = Message(
    "text",
    label="Grüße",
    priority=5,
    recoverable=False,
    journal=True,
    dead_letter=True,
    acknowledge=5,
    trace=True,
    admin_queue=r"DIRECT=OS:shop01\private$\reports",
    response_queue=r"DIRECT=OS:shop01\private$\answers",
    correlation_id=b"c" * 20,
    app_specific=7,
    extension=b"e",
    time_to_be_received=60,
    time_to_reach_queue=30,
)


def packet() -> bytes:
    name = parse_format_name(r"DIRECT=OS:shop01\private$\q")
    return Packer(uuid4()).pack(MIXED, name, message_id=1, sent_time=0)


def test_a_packet_is_sent_again_as_it_was() -> None:
    batch = pa.RecordBatch.from_pydict({"packet": [packet()], "queue": ["a"]})
    [(name, [found])] = messages(batch, "q")
    assert name == "a"
    assert [getattr(found, field) for field in FIELDS] == [getattr(MIXED, f) for f in FIELDS]


def test_columns_beside_a_packet_change_it() -> None:
    columns = {"packet": [packet()] * 2, "label": ["new", None], "value": [None, b"new"]}
    [(_, [first, second])] = messages(pa.RecordBatch.from_pydict(columns), "q")
    assert (first.label, first.body, first.body_type) == ("new", MIXED.body, MIXED.body_type)
    assert (second.label, second.body, second.body_type) == ("Grüße", b"new", 0)
    assert second.priority == 5


@pytest.mark.parametrize("wrong", [None, b"", b"x" * 100])
def test_what_is_no_packet_is_refused(wrong: bytes | None) -> None:
    batch = pa.RecordBatch.from_pydict({"packet": pa.array([wrong], pa.binary())})
    with pytest.raises(InvalidParameter, match="column packet: "):
        list(messages(batch, "q"))


@pytest.mark.parametrize(
    ("extension", "wanted", "kind"),
    [
        (None, "rebus", "rebus"),
        (None, "nservicebus", "nservicebus"),
        (encode_rebus({"a": "0"}), "nservicebus", "rebus"),
        (encode_nservicebus({"a": "0"}), "rebus", "nservicebus"),
    ],
)
def test_headers_become_the_extension(extension: bytes | None, wanted: str, kind: str) -> None:
    kinds = pa.schema([("body", pa.binary()), ("extension", pa.binary()), ("Headers", HEADERS)])
    rows = {"body": [b""], "extension": [extension], "Headers": [[("a", "1")]]}
    batch = pa.RecordBatch.from_pydict(rows, schema=kinds)
    [(_, [made])] = messages(batch, "q", wanted)
    found = decode_headers(made.extension)
    assert (found.kind, dict(found.values)) == (kind, {"a": "1"})
    [(_, [without])] = messages(batch, "q", "")
    assert without.extension == (extension or b"")


def test_an_extension_whose_headers_are_the_same_stays_as_it_is() -> None:
    extension = b'{ "a": "1" }'
    kinds = pa.schema([("body", pa.binary()), ("extension", pa.binary()), ("headers", HEADERS)])
    rows = {"body": [b""], "extension": [extension], "headers": [[("a", "1")]]}
    [(_, [made])] = messages(pa.RecordBatch.from_pydict(rows, schema=kinds), "q")
    assert made.extension == extension


def one_by_one(batch: pa.RecordBatch) -> list[tuple[str, list[bytes]]]:
    """What `packets` is to give, by way of messages."""
    pack = Packer(NO_GUID).pack
    return [
        (name, [pack(row, ANYWHERE, message_id=0, sent_time=0) for row in rows])
        for name, rows in messages(batch, "q")
    ]


PLAIN = st.text(st.characters(max_codepoint=0x7F, exclude_characters="\0"), max_size=9)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "label": (pa.string(), PLAIN),
    "priority": (pa.int32(), st.integers(0, 7)),
    "app_specific": (pa.int64(), st.integers(0, 2**32 - 1)),
    "queue": (pa.string(), st.sampled_from(["a", "b"])),
    "delivery": (pa.string(), st.just("recoverable")),
    "journal": (pa.bool_(), st.just(False)),
    "correlation_id": (pa.binary(), st.nothing()),
    "headers": (HEADERS, st.nothing()),
    "message_id": (pa.string(), PLAIN),
}


@given(data=st.data(), rows=st.integers(1, 5), skipped=st.integers(0, 2))
def test_columns_become_the_packets_of_their_messages(
    data: st.DataObject, rows: int, skipped: int
) -> None:
    chosen = {name: COLUMNS[name] for name in data.draw(st.sets(st.sampled_from(list(COLUMNS))))}
    if data.draw(st.booleans()):
        chosen["body"] = pa.binary(), st.binary(max_size=9)
        chosen["body_type"] = pa.int32(), st.integers(0, 31)
    else:
        chosen["Value"] = pa.string(), PLAIN
    drawn = {
        name: pa.array([data.draw(st.none() | values) for _ in range(rows + skipped)], kind)
        for name, (kind, values) in chosen.items()
    }
    batch = pa.RecordBatch.from_pydict(drawn).slice(skipped)
    made = packets(batch, "q")
    found = None if made is None else [(queue, list(own)) for queue, own in made]
    if "journal" in chosen or "delivery" in chosen:
        assert found is None or found == one_by_one(batch), "a null in them is looked at closely"
    else:
        assert found == one_by_one(batch)


@pytest.mark.parametrize(
    "columns",
    [
        {"body": [b""], "label": ["Grüße"]},
        {"body": [b""], "label": ["a\0b"]},
        {"body": [b""], "label": ["x" * 250]},
        {"body": ["ä"]},
        {"body": ["text"], "body_type": [30]},
        {"body": [b""], "priority": [8]},
        {"body": [b""], "app_specific": [-1]},
        {"body": [b""], "delivery": ["express"]},
        {"body": [b""], "extension": [b"e"]},
        {"body": [bytes(5 * 2**20)]},
        {"packet": [b"x" * 10]},
    ],
)
def test_rows_that_need_a_look_of_their_own(columns: dict[str, list[Any]]) -> None:
    assert packets(pa.RecordBatch.from_pydict(columns), "q") is None


def test_packets_are_sent_again_as_they_are_if_nothing_is_of_another_manager(
    manager: Manager,
) -> None:
    source = manager.create_queue("a")
    simple = Message("t", label="Grüße", priority=5, journal=True, app_specific=9, extension=b"e")
    named = Message(b"n", response_queue=r"DIRECT=OS:there\private$\r", time_to_be_received=99)
    traced = Message(b"t", trace=True)
    source.send_many([simple, named, traced])
    first, second, third = (one.packet for one in source.peek_many(9, timeout=0))
    assert packets(pa.RecordBatch.from_pydict({"packet": [first, third]}), "q") is None
    batch = pa.RecordBatch.from_pydict({"packet": [first, second], "queue": ["b", "b"]})
    [(name, found)] = packets(batch, "q") or []
    assert name == "b"
    again = manager.create_queue(name)
    again.send_packets(found)
    ways = [[one.to_message() for one in again.receive_many(9)]]
    again.send_many([one for _, rows in messages(batch, "q") for one in rows])
    ways.append([one.to_message() for one in again.receive_many(9)])
    assert ways[0] == ways[1] == [simple, named]


def test_packets_that_follow_each_other_to_a_queue_stay_together() -> None:
    new = [Message(bytes(number)) for number in range(5)]
    sent = Packer(NO_GUID).pack_many(new, ANYWHERE, first_id=1, sent_time=1)
    columns = {"packet": [b"", *sent], "queue": ["x", "a", "a", None, "b", "b"]}
    batch = pa.RecordBatch.from_pydict(columns).slice(1)
    found = packets(batch, "q")
    assert found is not None
    assert [(name, list(own)) for name, own in found] == [
        ("a", sent[:2]),
        ("q", sent[2:3]),
        ("b", sent[3:]),
    ]
    assert all(isinstance(own, JoinedPackets) for _, own in found)
    cut = pa.RecordBatch.from_pydict({"packet": [sent[0], sent[1][:-4]]})
    assert packets(cut, "q") is None
