"""Columns from bodies."""

from __future__ import annotations

import pytest
from tests.unit.bodies import test_nrbf, test_wcf
from tests.unit.console.harness import Desk, at_desk

from openmsmq import Message
from openmsmq.bodies.decode import NRBF_BODY_TYPE
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.bodies.columns import parse_column, parse_columns
from openmsmq.console.bodies.contents import ContentError
from openmsmq.console.limits import COLUMN_TEXT_MAX, COLUMNS_MAX

WCF = test_wcf.preamble() + test_wcf.SUBMIT
ORDER = test_nrbf.stream(
    test_nrbf.library(2, "Shop"),
    test_nrbf.typed_class(
        1, "Shop.Order", [("number", 0, b"\x08"), ("customer", 1, b"")], library_id=2
    )
    + test_nrbf.i32(4711)
    + test_nrbf.string(3, "ACME"),
)


@at_desk
async def test_values_of_all_kinds_of_bodies(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    headers = encode_nservicebus({"NServiceBus.FailedQ": "orders@shop01"})
    await queue.send_many(
        [
            Message(b'{"no": 1, "lines": [{"p": 2}, {"p": null}]}', extension=headers),
            Message(b'<order no="7"><line>a</line><line>b</line></order>'),
            Message(WCF),
            Message(ORDER, body_type=NRBF_BODY_TYPE),
            Message(b"\xff\x00 nothing"),
        ]
    )
    messages = await queue.peek_many(9, timeout=0)

    def column(text: str) -> list[str]:
        read = parse_column(text)
        return [read(message) for message in messages]

    assert column("json:$.no") == ["1", "", "", "", ""]
    assert column("json:$.lines[*].p") == ["2, null", "", "", "", ""]
    assert column("xpath:/order/@no") == ["", "7", "", "", ""]
    assert column("xpath://line") == ["", "a, b", "", "", ""]
    assert column("xpath://Submit/count") == ["", "", "5", "", ""]
    assert column("json:$.customer") == ["", "", "", "ACME", ""]
    assert column("header.nservicebus.failedq") == ["orders@shop01", "", "", "", ""]


@at_desk
async def test_a_value_is_as_long_as_a_column_and_can_be_written(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send(Message(b'{"a": "' + b"x" * 5000 + b'"}'))
    read = parse_column("json:$.a")
    assert read(await queue.peek(0)) == "x" * COLUMN_TEXT_MAX


@pytest.mark.parametrize(
    "text",
    ["", "json:", "json:a", "json:$.a>1", "xpath:a", "xpath:/a=1", "header.", "label", "x:y"],
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ContentError):
        parse_column(text)


def test_columns_are_few() -> None:
    with pytest.raises(ContentError, match="at most"):
        parse_columns(["json:$.a"] * (COLUMNS_MAX + 1))
