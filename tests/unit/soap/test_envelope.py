"""Envelopes as values."""

from __future__ import annotations

from uuid import UUID

from tests.soap import MANAGER

from openmsmq.soap.envelope import (
    DeliveryReceipt,
    Envelope,
    Msmq,
    Path,
    Properties,
    Services,
    StreamHeader,
    message_id,
)
from openmsmq.soap.scalars import NEVER, SoapMessageId, StreamId

OTHER = UUID("11111111-2222-4333-8444-555566667777")
PATH = Path("http://machine2/msmq/private$/q", f"uuid:7@{OTHER}")
PLAIN = Envelope(PATH, Properties(NEVER))
STREAM_ID = StreamId(MANAGER, 1 << 32)


def test_the_identifier_counts_only_with_an_msmq_entry() -> None:
    """SRMP-066, SRMP-068, SRMP-144: and its GUID is SourceQmGuid."""
    assert message_id(PLAIN) is None
    identified = Envelope(PATH, Properties(NEVER), msmq=Msmq(MANAGER, NEVER))
    assert message_id(identified) == SoapMessageId(7, MANAGER)


def test_a_message_before_which_none_is_named_follows_the_number_before() -> None:
    """SRMP-103: an absent previous is current - 1 (HTTP-10)."""
    assert StreamHeader(STREAM_ID, 7).predecessor == 6
    assert StreamHeader(STREAM_ID, 7, 3).predecessor == 3
    assert StreamHeader(STREAM_ID, 1).predecessor == 0


def test_durable_is_what_says_so_and_every_stream_message() -> None:
    """SRMP-148, SRMP-082: a stream message is durable, also where an example leaves it out."""
    assert not PLAIN.durable
    assert not Envelope(PATH, Properties(NEVER), Services()).durable
    assert Envelope(PATH, Properties(NEVER), Services(durable=True)).durable
    assert Envelope(PATH, Properties(NEVER), stream=StreamHeader(STREAM_ID, 1)).durable


def test_any_receipt_element_makes_a_receipt() -> None:
    assert not PLAIN.is_receipt
    receipt = DeliveryReceipt(1, PATH.id)
    assert Envelope(PATH, Properties(NEVER), delivery_receipt=receipt).is_receipt
