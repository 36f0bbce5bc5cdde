"""Envelopes, written."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.soap import MANAGER

from openmsmq.soap.envelope import (
    BadSignature,
    CommitmentReceipt,
    CommitmentRequest,
    Envelope,
    Eod,
    Msmq,
    Path,
    Properties,
    Provider,
    Services,
    StreamHeader,
    StreamReceipt,
)
from openmsmq.soap.reader import read_envelope
from openmsmq.soap.scalars import NEVER, StreamId
from openmsmq.soap.writer import escape, write_envelope, write_header

ID = f"uuid:7@{MANAGER}"
PLAIN = Envelope(Path("http://m/msmq/q", ID, "order 1"), Properties(NEVER, 1184814700))
FULL = Msmq(MANAGER, NEVER, journal=True, dead_letter=True, trace=True)


def test_an_envelope_is_one_line_with_the_literals_of_the_specification() -> None:
    """SRMP-046, SRMP-049, SRMP-054, SRMP-155, SRMP-156, SRMP-159, SRMP-163."""
    assert write_envelope(PLAIN) == (
        '<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/"'
        ' xmlns="http://schemas.xmlsoap.org/srmp/"><se:Header>'
        '<path xmlns="http://schemas.xmlsoap.org/rp/" se:mustUnderstand="1">'
        f"<action>MSMQ:order 1</action><to>http://m/msmq/q</to><id>{ID}</id></path>"
        '<properties se:mustUnderstand="1"><expiresAt>20380119T031407</expiresAt>'
        "<sentAt>20070719T031140</sentAt></properties>"
        "</se:Header><se:Body></se:Body></se:Envelope>"
    )


def test_a_message_without_label_has_the_prefix_alone() -> None:
    """SRMP-060, SRMP-155."""
    for label in (None, ""):
        written = write_envelope(replace(PLAIN, path=replace(PLAIN.path, label=label)))
        assert "<action>MSMQ:</action>" in written


def test_rev_is_written_only_with_a_response_queue() -> None:
    """SRMP-072, SRMP-157: never as an empty pair of tags."""
    assert "via" not in write_envelope(PLAIN)
    path = replace(PLAIN.path, via="MSMQ:PUBLIC=x")
    assert f"<id>{ID}</id><rev><via>MSMQ:PUBLIC=x</via></rev></path>" in write_envelope(
        replace(PLAIN, path=path)
    )


def test_services_have_their_order() -> None:
    """SRMP-080 to SRMP-082, SRMP-086, SRMP-088."""
    commitment = CommitmentRequest("http://m/msmq/c", positive=True, negative=True)
    services = Services(True, "http://m/msmq/d", commitment)
    assert (
        '<services se:mustUnderstand="1"><durable/>'
        "<deliveryReceiptRequest><sendTo>http://m/msmq/d</sendTo></deliveryReceiptRequest>"
        "<commitmentReceiptRequest><sendTo>http://m/msmq/c</sendTo><positiveOnly/>"
        "<negativeOnly/></commitmentReceiptRequest></services>"
    ) in write_envelope(replace(PLAIN, services=services))
    assert "services" not in write_envelope(PLAIN)


def test_a_stream_entry_has_previous_and_start_where_they_belong() -> None:
    """SRMP-093, SRMP-098, SRMP-102, SRMP-104, SRMP-160, SRMP-161."""
    identifier = StreamId(MANAGER, 5)
    first = StreamHeader(identifier, 1, None, "http://me/msmq/private$/order_queue$")
    assert (
        f'<stream se:mustUnderstand="1"><streamId>uid:{MANAGER}\\5</streamId><current>1</current>'
        "<start><sendReceiptsTo>http://me/msmq/private$/order_queue$</sendReceiptsTo></start>"
        "</stream>"
    ) in write_envelope(replace(PLAIN, stream=first))
    later = write_envelope(replace(PLAIN, stream=StreamHeader(identifier, 9, 7)))
    assert "<current>9</current><previous>7</previous></stream>" in later


def test_entries_stand_in_their_order() -> None:
    """SRMP-050: receipts between stream and Msmq, as Windows writes them."""
    written = write_header(
        replace(
            PLAIN,
            services=Services(durable=True),
            stream=StreamHeader(StreamId(MANAGER, 5), 2),
            commitment_receipt=CommitmentReceipt(1, True, ID),
            stream_receipt=StreamReceipt(StreamId(MANAGER, 5), 3),
            msmq=FULL,
        )
    )
    names = (
        "path", "properties", "services", "stream", "commitmentReceipt", "streamReceipt", "Msmq",
    )  # fmt: skip
    places = [written.index(f"<{name}") for name in names]
    assert places == sorted(places)


def test_the_msmq_entry_has_its_fixed_order() -> None:
    """SRMP-119, SRMP-139, SRMP-162: optional elements only when they are set (HTTP-21)."""
    guid = UUID("fd74b8eb-2af7-4ac5-9405-074e315df392")
    full = replace(
        FULL,
        connector_type=guid,
        eod=Eod(True, True, guid),
        provider=Provider(1, "N"),
        destinations=("http://a/msmq/q", "http://b/msmq/q"),
        administrations=("http://a/msmq/a",),
        responses=("http://a/msmq/r",),
    )
    assert write_envelope(replace(PLAIN, msmq=full)).partition("<Msmq")[2] == (
        ' xmlns="msmq.namespace.xml"><Class>0</Class><Priority>3</Priority><Journal/><DeadLetter/>'
        "<Correlation>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</Correlation><Trace/>"
        f"<ConnectorType>{guid}</ConnectorType><App>0</App><BodyType>0</BodyType>"
        "<HashAlgorithm>0</HashAlgorithm>"
        f"<Eod><First/><Last/><ConnectorId>{guid}</ConnectorId></Eod>"
        "<Provider><Type>1</Type><Name>N</Name></Provider>"
        f"<SourceQmGuid>{MANAGER}</SourceQmGuid>"
        "<DestinationMqf>http://a/msmq/q http://b/msmq/q </DestinationMqf>"
        "<AdminMqf>http://a/msmq/a </AdminMqf><ResponseMqf>http://a/msmq/r </ResponseMqf>"
        "<TTrq>20380119T031407</TTrq></Msmq></se:Header><se:Body></se:Body></se:Envelope>"
    )
    bare = write_envelope(replace(PLAIN, msmq=Msmq(MANAGER, NEVER)))
    for name in ("Journal", "DeadLetter", "Trace", "ConnectorType", "Eod", "Provider", "Mqf"):
        assert name not in bare


def test_text_is_escaped_and_what_xml_cannot_hold_is_replaced() -> None:
    assert escape("a<b>&\"'\t\n\r") == "a&lt;b&gt;&amp;\"'\t\n&#xD;"
    assert escape("\0\x1f\ud800\uffff") == "\ufffd" * 4
    label = "</action>&amp;\r\n "
    written = write_envelope(replace(PLAIN, path=replace(PLAIN.path, label=label)))
    assert read_envelope(written.encode()).path.label == label


def test_a_signature_that_cannot_be_valid_is_not_sent() -> None:
    with pytest.raises(AssertionError):
        write_header(replace(PLAIN, signature=BadSignature("x")))
