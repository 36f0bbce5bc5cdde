"""Envelopes of packets that differ from one that was written before in label and identifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionHeader, TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.soap import written
from openmsmq.soap.limits import SIMILAR_MAX
from openmsmq.soap.packets import from_packet, write_message
from openmsmq.soap.written import write_similar

TO = "DIRECT=HTTP://there/msmq/private$/orders"
RECEIPTS = "http://here/msmq/private$/order_queue$"
IN_STREAM = OptionalHeaders(transaction=TransactionHeader(0, TxSequenceID(1, 2), 1, 0, None))


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    written._WRITTEN.clear()
    yield
    written._WRITTEN.clear()


def packet(
    to: str = TO, admin: str = "", response: str = "", source: int = 7, **given: Any
) -> PacketView:
    admin_name = parse_format_name(admin) if admin else None
    answers = parse_format_name(response) if response else None
    builder = PacketBuilder(
        UUID(int=source), parse_format_name(to), admin=admin_name, response=answers
    )
    asked = {"label": "order 1", "message_id": 1, "sent_time": 1_700_000_000, **given}
    return PacketView(builder.build(asked.pop("body", b"<order/>"), **asked))


def check(view: PacketView) -> None:
    message = from_packet(view, receipts_to=RECEIPTS)
    wanted = message.envelope.path.to, write_message(message)
    assert write_similar(view, receipts_to=RECEIPTS) == wanted


@pytest.mark.parametrize(
    "given",
    [
        {"message_id": 0xFFFFFFFF},
        {"label": ""},
        {"label": "a & b <c>\r\x01"},
        {"label": "</action><action>MSMQ:x<id>uuid:1@"},
        {"label": "\N{SNOWMAN}" * 200, "message_id": 10},
        {"body": b""},
        {"body": b"x" * 5000, "extension": b"<id>uuid:1@"},
    ],
)
def test_what_differs_is_written_anew(given: dict[str, Any]) -> None:
    check(packet())
    assert len(written._WRITTEN) == 1
    for _ in range(2):
        check(packet(**given))
    assert len(written._WRITTEN) == 1, "it was not written as one of its own"


@pytest.mark.parametrize(
    "given",
    [
        {"to": "DIRECT=HTTP://there/msmq/private$/other"},
        {"source": 8},
        {"admin": "DIRECT=HTTP://here/msmq/private$/a", "acknowledge": 0x05},
        {"response": "DIRECT=HTTP://here/msmq/private$/r"},
        {"priority": 5},
        {"trace": True, "headers": OptionalHeaders().for_tracing()},
        {"recoverable": False},
        {"journal": True},
        {"dead_letter": True},
        {"sent_time": 1_700_000_001},
        {"time_to_reach_queue": 60},
        {"time_to_be_received": 60},
        {"correlation_id": b"c" * 20},
        {"body_type": 8},
        {"app_specific": 9},
        {"headers": OptionalHeaders(hash_algorithm=0x800C)},
        {"headers": OptionalHeaders(connector_type=UUID(int=5))},
    ],
)
def test_what_else_an_envelope_says_makes_it_another_one(given: dict[str, Any]) -> None:
    check(packet())
    for number in (2, 3):
        check(packet(message_id=number, **given))
    assert len(written._WRITTEN) == 2


@pytest.mark.parametrize(
    "given",
    [{"headers": IN_STREAM}, {"message_class": MessageClass.ACK_REACH_QUEUE}],
)
def test_a_stream_and_a_receipt_are_never_like_others(given: dict[str, Any]) -> None:
    check(packet(**given))
    assert not written._WRITTEN


def test_what_is_remembered_is_bounded() -> None:
    for number in range(SIMILAR_MAX + 3):
        check(packet(app_specific=number))
    assert len(written._WRITTEN) == SIMILAR_MAX
    check(packet(app_specific=0))


def test_a_long_envelope_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "SIMILAR_SIZE_MAX", 100)
    check(packet())
    assert not written._WRITTEN
