"""Envelopes, read."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.soap import MANAGER, MUST, OPEN, PATH, PROPERTIES, REST, envelope, msmq

from openmsmq.errors import Malformed
from openmsmq.soap.envelope import (
    CommitmentReceipt,
    CommitmentRequest,
    DeliveryReceipt,
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

STREAM_ID = StreamId(MANAGER, 0x432B1643_00000006)
SERVICES = (
    f"<services {MUST}><durable/>"
    "<deliveryReceiptRequest><sendTo>http://m/msmq/private$/r</sendTo></deliveryReceiptRequest>"
    "<commitmentReceiptRequest><sendTo>https://m/msmq/private$/c</sendTo><positiveOnly/>"
    "</commitmentReceiptRequest></services>"
)


def stream(content: str, name: str = "stream") -> str:
    return f"<{name} {MUST}><streamId>{STREAM_ID}</streamId>{content}</{name}>"


START = (
    "<start><sendReceiptsTo>\r\n http://m/msmq/private$/order_queue$ \n</sendReceiptsTo></start>"
)


def test_path_and_properties_are_all_that_has_to_be_there() -> None:
    """SRMP-053, SRMP-055, SRMP-061, SRMP-064, SRMP-074, SRMP-120."""
    found = read_envelope(envelope())
    assert found.path == Path(
        "http://machine2/msmq/private$/orders", f"uuid:7@{MANAGER}", "order 1"
    )
    assert found.properties == Properties(NEVER, 1184814700)
    rest = (found.services, found.stream, found.msmq, found.signature)
    assert rest == (None, None, None, None)
    assert not found.is_receipt


@pytest.mark.parametrize(
    ("path", "properties"),
    [
        ("", PROPERTIES),
        (PATH, ""),
        (PATH * 2, PROPERTIES),
        (PATH, PROPERTIES * 2),
        (PATH.replace(f" {MUST}", ""), PROPERTIES),
        (PATH.replace('stand="1"', 'stand="0"'), PROPERTIES),
        (PATH, PROPERTIES.replace(f" {MUST}", "")),
        (PATH.replace("xmlsoap.org/rp/", "xmlsoap.org/rp"), PROPERTIES),
        (PATH.replace("<action>MSMQ:order 1</action>", ""), PROPERTIES),
        (PATH.replace("<action>", "<action/><action>"), PROPERTIES),
        (PATH.replace("<to>", "<from>").replace("</to>", "</from>"), PROPERTIES),
        (PATH.replace("<id>", "<other>").replace("</id>", "</other>"), PROPERTIES),
        (PATH.replace("order 1", "order <b/>1"), PROPERTIES),
        (PATH.replace("order 1", "x" * 250), PROPERTIES),
        (PATH.replace("order 1", "\U0001f4e8" * 125), PROPERTIES),
        (PATH.replace("http:", "ftp:"), PROPERTIES),
        (PATH.replace("http://machine2", "MSMQ:DIRECT=OS:m"), PROPERTIES),
        (PATH.replace("machine2", "machine2\x7f"), PROPERTIES),
        (PATH.replace("machine2", "m" * 1100), PROPERTIES),
        (PATH.replace("</path>", "<rev></rev></path>"), PROPERTIES),
        (PATH.replace("</path>", "<rev><via/><via/></rev></path>"), PROPERTIES),
        (PATH.replace("</path>", "<rev><via>OS:m</via></rev></path>"), PROPERTIES),
        (PATH, PROPERTIES.replace("20380119T031407", "soon")),
        (PATH, PROPERTIES.replace("expiresAt", "expiresat")),
        (PATH, PROPERTIES.replace("20070719T031140", "")),
    ],
)
def test_a_path_or_properties_against_the_rules_is_refused(path: str, properties: str) -> None:
    """SRMP-052, SRMP-054, SRMP-062, SRMP-069: what breaks section 2 is malformed."""
    with pytest.raises(Malformed):
        read_envelope(envelope(path=path, properties=properties))


def test_the_label_is_what_follows_the_prefix() -> None:
    """SRMP-056, SRMP-059, SRMP-142: to its last character; without the prefix there is none."""

    def label(action: str) -> str | None:
        return read_envelope(envelope(path=PATH.replace("MSMQ:order 1", action))).path.label

    assert label("MSMQ:") == ""
    assert label("MSMQ: two words ") == " two words "
    assert label("\r\n MSMQ:x") == "x"
    assert label("Generic label") is None
    assert label("msmq:x") is None
    assert label("MSMQ:&lt;&#13;&amp;") == "<\r&"
    assert label("MSMQ:" + "\u00e9" * 249) == "\u00e9" * 249


def test_a_via_names_the_response_queue_or_none() -> None:
    """SRMP-070, SRMP-071: an empty one is none."""

    def via(rev: str) -> str:
        return read_envelope(envelope(path=PATH.replace("</path>", f"{rev}</path>"))).path.via

    assert via("") == via("<rev><via/></rev>") == via("<rev><via></via></rev>") == ""
    assert via("<rev><via>http://m/msmq/q</via></rev>") == "http://m/msmq/q"
    assert via("<rev><via> MSMQ:PUBLIC=x </via></rev>") == "MSMQ:PUBLIC=x"


def test_what_windows_never_sends_is_passed_over() -> None:
    """SRMP-073, SRMP-079: fwd, from, relatesTo, fault, inReplyTo."""
    more = "<fwd><via>x</via></fwd><from>a</from><from>b</from><relatesTo/><fault/>"
    path = PATH.replace("</path>", f"{more}</path>")
    properties = PROPERTIES.replace("</properties>", "<inReplyTo>x</inReplyTo></properties>")
    found = read_envelope(envelope(path=path, properties=properties))
    assert found == read_envelope(envelope())
    assert found.path.to


@pytest.mark.parametrize(
    "data",
    [
        b"<Envelope/>",
        envelope().replace(b"soap/envelope/", b"soap/envelope"),
        envelope(body=""),
        envelope(body="<se:Body/><se:Body/>"),
        envelope(body="<other/><se:Body/>"),
        f"{OPEN}<se:Body/><se:Header>{PATH}{PROPERTIES}</se:Header></se:Envelope>".encode(),
        f"{OPEN}<x/><se:Header>{PATH}{PROPERTIES}</se:Header><se:Body/></se:Envelope>".encode(),
        envelope(body="<se:Body/><se:Header/>"),
    ],
)
def test_an_envelope_begins_with_one_header_and_one_body(data: bytes) -> None:
    """SRMP-043 to SRMP-045."""
    with pytest.raises(Malformed, match="Envelope"):
        read_envelope(data)


def test_the_content_of_the_body_is_ignored() -> None:
    """SRMP-047."""
    body = "<se:Body><path xmlns='x'>y</path></se:Body>"
    assert read_envelope(envelope(body=body)) == read_envelope(envelope())


def test_an_unknown_entry_is_ignored_unless_it_must_be_understood() -> None:
    """SRMP-042: SOAP 1.1 4.2.3 (HTTP-34)."""
    assert read_envelope(envelope("<new a='1'>x</new><new/>")) == read_envelope(envelope())
    assert read_envelope(envelope('<new se:mustUnderstand="0"/>')) == read_envelope(envelope())
    for value in ("1", "true", ""):
        with pytest.raises(Malformed, match=r"Header\.new .* must be understood"):
            read_envelope(envelope(f'<new se:mustUnderstand="{value}"/>'))
    with pytest.raises(Malformed, match="must be understood"):
        read_envelope(envelope(f'<properties xmlns="urn:other" {MUST}/>'))


def test_name_spaces_may_be_declared_anywhere() -> None:
    """SRMP-048: on a surrounding element or on each."""
    opening = '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/">'
    path = PATH.replace(MUST, 'e:mustUnderstand="1"')
    properties = PROPERTIES.replace(
        f"<properties {MUST}",
        '<properties xmlns="http://schemas.xmlsoap.org/srmp/" e:mustUnderstand="1"',
    )
    data = f"{opening}<e:Header>{path}{properties}</e:Header><e:Body/></e:Envelope>"
    assert read_envelope(data.encode()) == read_envelope(envelope())


def test_services_say_what_is_asked_for() -> None:
    """SRMP-086, SRMP-088, SRMP-149 to SRMP-151."""
    assert read_envelope(envelope(SERVICES)).services == Services(
        True,
        "http://m/msmq/private$/r",
        CommitmentRequest("https://m/msmq/private$/c", positive=True),
    )
    assert read_envelope(envelope(f"<services {MUST}/>")).services == Services()


@pytest.mark.parametrize(
    "services",
    [
        SERVICES.replace(f" {MUST}", ""),
        SERVICES.replace("<durable/>", "<durable/><durable/>"),
        SERVICES.replace("http://m", "MSMQ:http://m"),
        SERVICES.replace("https://m/msmq/private$/c", ""),
        f"<services {MUST}><deliveryReceiptRequest/></services>",
        f"<services {MUST}><commitmentReceiptRequest/></services>",
        SERVICES * 2,
        SERVICES.replace("http://m/msmq/private$/r", "http://m/admin?delete=all"),
        SERVICES.replace("https://m/msmq/private$/c", "https://m/"),
    ],
)
def test_services_against_the_rules_are_refused(services: str) -> None:
    """SRMP-080, SRMP-086, SRMP-088: receipts go to queues, not to any address (HTTP-47)."""
    with pytest.raises(Malformed):
        read_envelope(envelope(services))


def test_a_stream_entry_gives_the_place_of_a_message() -> None:
    """SRMP-100, SRMP-101, SRMP-104, SRMP-105, SRMP-109, SRMP-152."""
    first = stream(f"<current>1</current>{START}<streamReceiptRequest/>", "Stream")
    later = stream("<current>9</current><previous>7</previous><end/>")
    assert read_envelope(envelope(first + msmq())).stream == StreamHeader(
        STREAM_ID, 1, None, "http://m/msmq/private$/order_queue$"
    )
    assert read_envelope(envelope(later + msmq())).stream == StreamHeader(STREAM_ID, 9, 7)


@pytest.mark.parametrize(
    "entries",
    [
        stream(f"<current>1</current>{START}"),
        stream(f"<current>1</current>{START}").replace(f" {MUST}", "") + msmq(),
        stream("<current>1</current>") + msmq(),
        stream(f"<current>2</current>{START}") + msmq(),
        stream(START) + msmq(),
        stream("<current>0</current>") + msmq(),
        stream("<current>4294967296</current>") + msmq(),
        stream("<current>3</current><previous>3</previous>") + msmq(),
        stream("<current>1</current><start/>") + msmq(),
        stream("<current>1</current><start><sendReceiptsTo>OS:m</sendReceiptsTo></start>") + msmq(),
        stream("<current>1</current><start><sendReceiptsTo>http://m/x</sendReceiptsTo></start>")
        + msmq(),
        stream("<current>2</current>") * 2 + msmq(),
        stream("<current>2</current>") + stream("<current>2</current>", "Stream") + msmq(),
        f"<stream {MUST}><current>2</current></stream>{msmq()}",
    ],
)
def test_a_stream_entry_against_the_rules_is_refused(entries: str) -> None:
    """SRMP-093, SRMP-094, SRMP-100, SRMP-104, SRMP-105."""
    with pytest.raises(Malformed):
        read_envelope(envelope(entries))


RECEIPTS = {
    "deliveryReceipt": (
        f"<receivedAt>20070719T032454</receivedAt><id>uuid:1@{MANAGER}</id>",
        DeliveryReceipt(1184815494, f"uuid:1@{MANAGER}"),
    ),
    "commitmentReceipt": (
        "<decidedAt>20070719T032454</decidedAt><decision>negative</decision>"
        f"<id>uuid:1@{MANAGER}</id>",
        CommitmentReceipt(1184815494, False, f"uuid:1@{MANAGER}"),
    ),
    "streamReceipt": (
        f"<streamId>{STREAM_ID}</streamId><lastOrdinal>3</lastOrdinal>",
        StreamReceipt(STREAM_ID, 3),
    ),
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_receipts_are_read(name: str) -> None:
    """SRMP-111, SRMP-114, SRMP-116, SRMP-117."""
    content, expected = RECEIPTS[name]
    found = read_envelope(envelope(f"<{name}>{content}</{name}>"))
    assert expected in (found.delivery_receipt, found.commitment_receipt, found.stream_receipt)
    assert found.is_receipt


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_that_lacks_anything_is_refused(name: str) -> None:
    """SRMP-111, SRMP-114, SRMP-116, SRMP-117."""
    content, _ = RECEIPTS[name]
    elements = [f"<{part}" for part in content.split("<") if part and part[0] != "/"]
    for element in elements:
        tag = element[1:].partition(">")[0]
        broken = content.replace(f"<{tag}>", "<x>").replace(f"</{tag}>", "</x>")
        with pytest.raises(Malformed, match="missing"):
            read_envelope(envelope(f"<{name}>{broken}</{name}>"))
    for wrong in (content.replace("uuid:1", "1"), content.replace("negative", "maybe")):
        if wrong != content:
            with pytest.raises(Malformed):
                read_envelope(envelope(f"<{name}>{wrong}</{name}>"))


def test_an_msmq_entry_fills_every_attribute() -> None:
    """SRMP-121 to SRMP-137, SRMP-153, SRMP-154."""
    guid = UUID("fd74b8eb-2af7-4ac5-9405-074e315df392")
    more = (
        "<Journal/><DeadLetter/><Correlation>AAAAAAAAAAAAAAAAAAAAAAEAAAA=</Correlation><Trace/>"
        f"<ConnectorType>{guid}</ConnectorType><App>36</App><HashAlgorithm>32772</HashAlgorithm>"
        f"<Eod><First/><ConnectorId>{guid}</ConnectorId></Eod>"
        "<Provider><Type>1</Type><Name>N</Name></Provider>"
        "<DestinationMqf>\r\nhttp://a/msmq/q\thttp://b/msmq/q </DestinationMqf>"
        "<AdminMqf>http://a/msmq/a</AdminMqf><ResponseMqf>http://a/msmq/r</ResponseMqf>"
    )
    assert read_envelope(envelope(msmq(more))).msmq == Msmq(
        source=MANAGER,
        reach_queue_by=1185160300,
        journal=True,
        dead_letter=True,
        correlation=bytes(16) + b"\1\0\0\0",
        trace=True,
        connector_type=guid,
        app=36,
        hash_algorithm=32772,
        eod=Eod(first=True, connector_id=guid),
        provider=Provider(1, "N"),
        destinations=("http://a/msmq/q", "http://b/msmq/q"),
        administrations=("http://a/msmq/a",),
        responses=("http://a/msmq/r",),
    )
    assert read_envelope(envelope(msmq())).msmq == Msmq(MANAGER, 1185160300)


@pytest.mark.parametrize(
    "entry",
    [
        msmq(start="<Priority>3</Priority>"),
        msmq(start="<Class>0</Class>"),
        msmq(start="<Class>65536</Class><Priority>3</Priority>"),
        msmq(start="<Class>0</Class><Priority>8</Priority>"),
        *(msmq(rest=REST.replace(f"<{name}>", "<x>").replace(f"</{name}>", "</x>"))
          for name in ("BodyType", "SourceQmGuid", "TTrq")),
        msmq("<Correlation>AAAA</Correlation>"),
        msmq("<ConnectorType>x</ConnectorType>"),
        msmq("<App>-1</App>"),
        msmq("<HashAlgorithm>sha1</HashAlgorithm>"),
        msmq("<Eod><ConnectorId/></Eod>"),
        msmq("<Provider><Type>x</Type></Provider>"),
        msmq("<Journal/><Journal/>"),
        msmq("<BodyType>1</BodyType>"),
        msmq() * 2,
        msmq().replace("msmq.namespace.xml", "msmq") + f"<Msmq {MUST}/>",
    ],
)  # fmt: skip
def test_an_msmq_entry_against_the_rules_is_refused(entry: str) -> None:
    """SRMP-119, SRMP-121, SRMP-122, SRMP-125, SRMP-127 to SRMP-133, SRMP-137."""
    with pytest.raises(Malformed):
        read_envelope(envelope(entry))


def test_with_an_msmq_entry_the_identifier_has_to_be_one() -> None:
    """SRMP-065, SRMP-066: without it the text does not matter."""
    path = PATH.replace("uuid:7", "seven")
    assert read_envelope(envelope(path=path)).path.id == f"seven@{MANAGER}"
    with pytest.raises(Malformed, match=r"path\.id"):
        read_envelope(envelope(msmq(), path=path))


def test_lists_of_queues_are_bounded() -> None:
    names = "a " * 5000
    with pytest.raises(Malformed, match="5000 queues"):
        read_envelope(envelope(msmq(f"<AdminMqf>{names}</AdminMqf>")))
