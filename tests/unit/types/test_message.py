"""Messages to send."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any, cast

import pytest

from openmsmq.errors import (
    IllegalFormatName,
    IllegalPropertySize,
    IllegalPropertyValue,
    IllegalPropertyVt,
    IllegalQueuePathName,
    LabelTooLong,
    MQError,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import Acknowledge
from openmsmq.types.message import FIELDS, Message

SIGNER = MessageSigner(b"certificate", b"key")
ANSWERS = r"DIRECT=OS:host\private$\answers"
DEFAULTS: dict[str, object] = {
    "body": b"",
    "body_type": 0,
    "label": "",
    "priority": 3,
    "recoverable": True,
    "journal": False,
    "dead_letter": False,
    "dead_letter_queue": None,
    "acknowledge": Acknowledge.NONE,
    "admin_queue": None,
    "response_queue": None,
    "correlation_id": b"",
    "app_specific": 0,
    "extension": b"",
    "time_to_be_received": None,
    "time_to_reach_queue": None,
    "trace": False,
    "encrypt": False,
    "signer": None,
}
OTHERS: dict[str, object] = {
    "body": b"body",
    "body_type": 17,
    "label": "label",
    "priority": 5,
    "recoverable": False,
    "journal": True,
    "dead_letter": True,
    "dead_letter_queue": parse_format_name(r"DIRECT=OS:.\private$\dead"),
    "acknowledge": Acknowledge.FULL_RECEIVE,
    "admin_queue": parse_format_name(r"DIRECT=OS:host\private$\reports"),
    "response_queue": parse_format_name(ANSWERS),
    "correlation_id": bytes(range(20)),
    "app_specific": 1 << 31,
    "extension": b"extension",
    "time_to_be_received": 60,
    "time_to_reach_queue": 30,
    "trace": True,
    "encrypt": True,
    "signer": SIGNER,
}


def fields_of(message: Message) -> dict[str, object]:
    return {name: getattr(message, name) for name in FIELDS}


def test_a_message_has_the_fields_of_the_contract() -> None:
    assert tuple(DEFAULTS) == FIELDS


def test_a_message_of_which_nothing_is_said_is_safe_and_lives_for_ever() -> None:
    """DMPR-062, DMPR-064."""
    assert fields_of(Message()) == DEFAULTS


def test_every_field_is_kept() -> None:
    given: dict[str, Any] = OTHERS
    assert fields_of(Message(**given)) == OTHERS


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_changes_nothing_but_itself(name: str) -> None:
    given: dict[str, Any] = {name: OTHERS[name]}
    expected = DEFAULTS | given
    if name == "dead_letter_queue":  # there is one because it wants one
        expected["dead_letter"] = True
    assert fields_of(Message(**given)) == expected
    assert Message(**given) != Message()


def test_only_the_body_has_a_place() -> None:
    assert Message(b"x").body == b"x"
    with pytest.raises(TypeError, match="positional"):
        Message(b"x", 31)  # type: ignore[call-arg]  # the point of the test


@pytest.mark.parametrize(
    "name", ["soap_envelope", "soap_compound_message", "transaction_status_queue"]
)
def test_what_only_a_queue_manager_says_no_program_can_set(name: str) -> None:
    """DMPR-096."""
    given: dict[str, Any] = {name: "x"}
    with pytest.raises(TypeError, match=name):
        Message(**given)


@pytest.mark.parametrize(
    ("longest", "longer"),
    [("x" * 249, "x" * 250), ("\N{GRINNING FACE}" * 124, "\N{GRINNING FACE}" * 125)],
    ids=["ascii", "pairs"],
)
def test_a_label_has_at_most_249_characters(longest: str, longer: str) -> None:
    """DMPR-077: counted as they travel, in UTF-16."""
    assert Message(label=longest).label == longest
    with pytest.raises(LabelTooLong):
        Message(label=longer)


def test_text_is_a_body_as_well() -> None:
    message = Message("hé")
    assert (message.body, message.body_type) == (b"h\0\xe9\0", 31)
    assert message.text == message.value == "hé"
    assert message.decoded.format == "activex:VT_LPWSTR"


def test_a_body_is_read_by_its_type_or_looks() -> None:
    assert Message(b"\x05\0\0\0", body_type=3).value == 5
    assert Message(b'{"a": 1}').value == {"a": 1}
    assert Message(b"\xff\xfe\xfd").text is None
    assert Message(b"\xff\xfe\xfd").value == b"\xff\xfe\xfd"


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("body", 5, IllegalPropertyVt),
        ("body", None, IllegalPropertyVt),
        ("body_type", 1 << 32, IllegalPropertyValue),
        ("label", None, IllegalPropertyVt),
        ("label", "x" * 250, LabelTooLong),
        ("priority", 8, IllegalPropertyValue),
        ("priority", "3", IllegalPropertyVt),
        ("recoverable", 1, IllegalPropertyVt),
        ("recoverable", None, IllegalPropertyVt),
        ("journal", 0, IllegalPropertyVt),
        ("dead_letter", "no", IllegalPropertyVt),
        ("dead_letter_queue", 5, IllegalPropertyVt),
        ("dead_letter_queue", "DIRECT=TCP:127.0.0.1\\dead", IllegalFormatName),
        ("dead_letter_queue", ".\\private$\\q\\Journal$", IllegalFormatName),
        ("dead_letter_queue", "PUBLIC=11111111-2222-4333-8444-555566667777", IllegalFormatName),
        ("trace", 0, IllegalPropertyVt),
        ("encrypt", 1, IllegalPropertyVt),
        ("signer", b"pem", IllegalPropertyVt),
        ("acknowledge", 16, IllegalPropertyValue),
        ("acknowledge", None, IllegalPropertyVt),
        ("admin_queue", "DIRECT=OS:x", IllegalFormatName),
        ("admin_queue", "a,b\\c", IllegalQueuePathName),
        ("response_queue", "DIRECT=OS:x", IllegalFormatName),
        ("response_queue", 5, IllegalPropertyVt),
        ("correlation_id", bytes(21), IllegalPropertySize),
        ("correlation_id", None, IllegalPropertyVt),
        ("app_specific", -1, IllegalPropertyValue),
        ("app_specific", 1 << 32, IllegalPropertyValue),
        ("app_specific", None, IllegalPropertyVt),
        ("extension", "text", IllegalPropertyVt),
        ("extension", None, IllegalPropertyVt),
        ("time_to_be_received", -1, IllegalPropertyValue),
        ("time_to_reach_queue", 1 << 32, IllegalPropertyValue),
        ("time_to_reach_queue", "1", IllegalPropertyVt),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    name: str, value: Any, error: type[MQError]
) -> None:
    with pytest.raises(error) as caught:
        Message(**{name: value})
    assert type(caught.value) is error
    assert caught.value.detail.startswith(name)


def test_a_message_cannot_be_changed() -> None:
    message = Message()
    for name in FIELDS:
        with pytest.raises(FrozenInstanceError):
            setattr(message, name, DEFAULTS[name])
    with pytest.raises(FrozenInstanceError):
        del message.label


def test_another_message_can_be_made_of_one() -> None:
    message = Message("text", label="a", response_queue="answers")
    assert replace(message, label="b") == Message("text", label="b", response_queue="answers")
    with pytest.raises(LabelTooLong):
        replace(message, label="b" * 250)


@pytest.mark.parametrize("message", [Message(), Message("text"), Message(**cast(Any, OTHERS))])
def test_messages_go_to_other_processes(message: Message) -> None:
    again = pickle.loads(pickle.dumps(message))
    assert again == copy.copy(message) == copy.deepcopy(message) == message
    assert fields_of(again) == fields_of(message)


def test_equal_messages_are_one_key() -> None:
    one, other = (Message(b"x", response_queue=name) for name in (ANSWERS, ANSWERS.upper()))
    assert len({one, other}) == 1
    assert Message(b"x") != Message(b"y")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (Message(), "Message(b'')"),
        (Message(b"x", label="a"), "Message(b'x', label='a')"),
        (Message("text", trace=True), "Message('text', trace=True)"),
        (Message(b"a\0b", body_type=31), "Message('a')"),
        (Message(b"x", body_type=17, priority=0), "Message(b'x', body_type=17, priority=0)"),
        (
            Message(response_queue="answers"),
            r"Message(b'', response_queue='DIRECT=OS:.\\private$\\answers')",
        ),
        (Message(bytes(61)), f"Message({bytes(60)!r}... (61 bytes))"),
        (Message(bytes(60)), f"Message({bytes(60)!r})"),
        (Message("x" * 61), f"Message('{'x' * 60}'... (61 characters))"),
        (
            Message(extension=b"e" * 1000),
            f"Message(b'', extension=b'{'e' * 60}'... (1000 bytes))",
        ),
    ],
)
def test_a_repr_shows_what_was_said(message: Message, shown: str) -> None:
    assert repr(message) == shown


def test_a_body_of_json_is_read_as_json() -> None:
    assert Message('{"number": 1}').json() == {"number": 1}
    assert Message(b"[1, 2]").json() == [1, 2]
    with pytest.raises(ValueError, match="Expecting value"):
        Message("<order/>").json()


def test_a_body_of_a_wrong_type_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        Message({"number": 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="priority"):
        Message(priority=9)
