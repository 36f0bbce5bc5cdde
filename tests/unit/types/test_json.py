"""Messages as JSON objects."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from tests.samples import DIRECT_TEXT, SECURITY, SENT, SOURCE, user_message

from openmsmq.errors import (
    IllegalPropertyValue,
    IllegalPropertyVt,
    InvalidParameter,
    LabelTooLong,
    MQError,
    PropertyNotAllowed,
)
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import Acknowledge
from openmsmq.properties.vartype import VarType
from openmsmq.types.json import FACTS, from_json, renewed, to_json
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

SIMPLE: dict[str, object] = {
    "body": "aGVsbG8=",
    "body_type": 0,
    "label": "",
    "priority": 3,
    "recoverable": True,
    "journal": False,
    "dead_letter": False,
    "dead_letter_queue": None,
    "acknowledge": 0,
    "admin_queue": None,
    "response_queue": None,
    "correlation_id": "",
    "app_specific": 0,
    "extension": "",
    "time_to_be_received": None,
    "time_to_reach_queue": None,
    "trace": False,
    "encrypt": False,
    "text": "hello",
}


def test_a_simple_message_is_an_object_of_all_its_fields() -> None:
    assert to_json(Message(b"hello")) == SIMPLE


def test_every_field_has_its_form() -> None:
    message = Message(
        b"\xff\xfe\xfd",
        acknowledge=Acknowledge.FULL_RECEIVE,
        response_queue="answers",
        correlation_id=bytes(range(20)),
        extension=b"\xff",
        time_to_be_received=60,
    )
    expected = SIMPLE | {
        "body": "//79",
        "acknowledge": 14,
        "response_queue": r"DIRECT=OS:.\private$\answers",
        "correlation_id": bytes(range(20)).hex(),
        "extension": "/w==",
        "time_to_be_received": 60,
    }
    del expected["text"]
    found = to_json(message)
    assert found == expected
    assert type(found["acknowledge"]) is int
    assert from_json(found) == message


def test_a_received_message_also_says_where_it_comes_from() -> None:
    packet = user_message(security=SECURITY).encode()
    message = ReceivedMessage(
        packet, lookup_id=5, arrival=6, arrived=SENT + 0.25, abort_count=1, move_count=2
    )
    found = to_json(message)
    assert {name: found[name] for name in FACTS} == {
        "id": f"{SOURCE}\\4097",
        "lookup_id": 5,
        "arrival": 6,
        "message_class": 0,
        "sent_time": "2023-09-12T06:06:56Z",
        "arrived_time": "2023-09-12T06:06:56.250000Z",
        "destination_queue": f"DIRECT={DIRECT_TEXT}",
        "source_manager": str(SOURCE),
        "sender_id": "S-1-5-7",
        "signature_type": 0,
        "transactional": False,
        "abort_count": 1,
        "move_count": 2,
    }
    assert set(found) == {*FIELDS, *FACTS, "text"} - {"signer"}
    assert json.loads(json.dumps(found)) == found


def test_an_object_without_fields_is_a_message_like_any() -> None:
    assert from_json({}) == Message()


def test_text_is_the_body_where_there_is_none() -> None:
    assert from_json({"text": "hi", "label": "a"}) == Message("hi", label="a")
    assert from_json({"text": "hi", "body_type": 30}) == Message(b"hi", body_type=30)
    assert from_json({"text": "hi", "body": "aGVsbG8="}) == Message(b"hello")


def test_queues_and_lifetimes_are_as_in_python() -> None:
    found = from_json({"admin_queue": "reports", "time_to_reach_queue": 0.5})
    assert found == Message(admin_queue="reports", time_to_reach_queue=1)


@pytest.mark.parametrize(
    ("data", "error", "detail"),
    [
        ([], IllegalPropertyVt, "a message is a JSON object, not list"),
        ({"lable": "x"}, PropertyNotAllowed, "a message has no field lable"),
        ({"body": 5}, IllegalPropertyVt, "body: text is needed, not int"),
        ({"body": None}, IllegalPropertyVt, "body: text is needed, not NoneType"),
        ({"text": None}, IllegalPropertyVt, "text: text is needed, not NoneType"),
        ({"extension": []}, IllegalPropertyVt, "extension: text is needed, not list"),
        ({"correlation_id": 1}, IllegalPropertyVt, "correlation_id: text is needed, not int"),
        ({"label": None}, IllegalPropertyVt, "label must be str, not NoneType"),
        ({"label": "x" * 250}, LabelTooLong, "label has 250 characters, at most 249 are allowed"),
    ],
)
def test_wrong_objects_are_refused(data: object, error: type[MQError], detail: str) -> None:
    with pytest.raises(error) as caught:
        from_json(data)
    assert type(caught.value) is error
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    ("name", "value", "start"),
    [
        ("body", "a", "body: not base64"),
        ("body", "aGVsbG8=!", "body: not base64"),
        ("body", "é", "body: not base64"),
        ("extension", "=", "extension: not base64"),
        ("correlation_id", "0", "correlation_id: not hexadecimal"),
        ("correlation_id", "zz", "correlation_id: not hexadecimal"),
    ],
)
def test_bytes_that_are_not_encoded_are_refused(name: str, value: Any, start: str) -> None:
    with pytest.raises(IllegalPropertyValue) as caught:
        from_json({name: value})
    assert caught.value.detail.startswith(start)


def test_unknown_names_are_shown_within_a_bound() -> None:
    with pytest.raises(PropertyNotAllowed) as caught:
        from_json({"x" * 100_000: 1})
    assert len(caught.value.detail) < 200


# Messages like others

QUEUE = parse_format_name(r"DIRECT=OS:here\private$\orders")


def old(**given: Any) -> ReceivedMessage:
    """A message as a queue has it."""
    packer = Packer(UUID(int=1))
    return ReceivedMessage(packer.pack(Message(**given), QUEUE, message_id=7, sent_time=9))


def test_all_that_is_not_said_is_as_it_was_but_for_the_lifetime() -> None:
    given = {"label": "order 1", "priority": 5, "app_specific": 9, "extension": b"\0\1"}
    found = renewed(old(body=b"x", time_to_be_received=60, **given), label="order 2")
    assert (found.body, found.label, found.priority) == (b"x", "order 2", 5)
    assert (found.app_specific, found.extension) == (9, b"\0\1")
    assert (found.time_to_be_received, found.time_to_reach_queue) == (None, None)
    assert renewed(old(body=b"x"), time_to_be_received=5).time_to_be_received == 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_text_is_in_the_encoding_of_the_body_there(encoding: str) -> None:
    kind = VarType.VT_LPWSTR if encoding == "utf-16-le" else 0
    found = renewed(old(body="grün".encode(encoding), body_type=kind), text="blau €")
    assert (found.body, found.body_type) == ("blau €".encode(encoding), kind)


def test_one_letter_is_not_taken_for_another_encoding() -> None:
    found = renewed(old(body=b"a\0", body_type=VarType.VT_LPWSTR), text="b")
    assert found.body == "b".encode("utf-16-le")
    assert renewed(old(body=b"ab"), text="c").body == b"c"


def test_what_is_no_text_is_not_written_anew() -> None:
    with pytest.raises(InvalidParameter, match="give it whole"):
        renewed(old(body=b"\xff\xfe\x00\xd8\x80\x81"), text="x")
    assert renewed(old(body=b"\xff\xfe\x00\xd8\x80"), body=b"y").body == b"y"
