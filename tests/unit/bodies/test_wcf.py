"""Messages of WCF services."""

from __future__ import annotations

from typing import Final

import pytest
from tests.unit.bodies.test_nbfx import chars, element, word

from openmsmq.bodies.wcf import read_wcf
from openmsmq.errors import Malformed

VIA: Final = "net.msmq://localhost/private/orders"

SPECIFICATION_ENVELOPE: Final = bytes.fromhex(
    "56020B0161060B0173045608440A1E00829906616374696F6E01560E4009496E76656E746F7279810101"
)
"[MC-NBFS] 3."

SPECIFICATION_XML: Final = (
    '<s:Envelope xmlns:a="http://www.w3.org/2005/08/addressing"'
    ' xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Header>'
    '<a:Action s:mustUnderstand="1">action</a:Action></s:Header>'
    "<s:Body><Inventory>0</Inventory></s:Body></s:Envelope>"
)

SUBMIT: Final = (
    bytes.fromhex("56020b0173040b0161065608440a1e0082")
    + b"\x99"
    + word("http://shop.example/IOrders/Submit")
    + bytes.fromhex("441aad00112233445566778899aabbccddeeff")
    + bytes.fromhex("440c1e0082")
    + b"\x99"
    + word(VIA)
    + bytes.fromhex("01560e")
    + b"\x40"
    + word("Submit")
    + b"\x08"
    + word("http://shop.example/")
    + b"\x40"
    + word("placed")
    + bytes.fromhex("9700408ef95b47c808")
    + b"\x40"
    + word("count")
    + b"\x89\x05"
    + bytes.fromhex("010101")
)
"An envelope as WCF writes it: most names by number, headers with mustUnderstand."

SUBMIT_XML: Final = (
    '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"'
    ' xmlns:a="http://www.w3.org/2005/08/addressing"><s:Header>'
    '<a:Action s:mustUnderstand="1">http://shop.example/IOrders/Submit</a:Action>'
    "<a:MessageID>urn:uuid:33221100-5544-7766-8899-aabbccddeeff</a:MessageID>"
    f'<a:To s:mustUnderstand="1">{VIA}</a:To></s:Header>'
    '<s:Body><Submit xmlns="http://shop.example/"><placed>2006-05-17T00:00:00</placed>'
    "<count>5</count></Submit></s:Body></s:Envelope>"
)


def preamble(*, mode: int = 4, encoding: bytes = b"\x03\x07") -> bytes:
    return b"\x00\x01\x00\x01" + bytes([mode]) + b"\x02" + word(VIA) + encoding


def sized(payload: bytes) -> bytes:
    size = len(payload)
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return b"\x06" + length + payload


def refused(data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        read_wcf(data)
    return str(caught.value)


def test_a_message_of_a_service_reads_as_its_soap() -> None:
    tree, xml = read_wcf(preamble() + SUBMIT)
    assert xml == SUBMIT_XML
    understand = {"s:mustUnderstand": "1"}
    assert tree == {
        "version": "1.0",
        "mode": "singleton-sized",
        "via": VIA,
        "encoding": "binary",
        "envelope": {
            "name": "s:Envelope",
            "attributes": {
                "xmlns:s": "http://www.w3.org/2003/05/soap-envelope",
                "xmlns:a": "http://www.w3.org/2005/08/addressing",
            },
            "children": [
                {
                    "name": "s:Header",
                    "children": [
                        {
                            "name": "a:Action",
                            "attributes": understand,
                            "children": ["http://shop.example/IOrders/Submit"],
                        },
                        {
                            "name": "a:MessageID",
                            "children": ["urn:uuid:33221100-5544-7766-8899-aabbccddeeff"],
                        },
                        {"name": "a:To", "attributes": understand, "children": [VIA]},
                    ],
                },
                {
                    "name": "s:Body",
                    "children": [
                        {
                            "name": "Submit",
                            "attributes": {"xmlns": "http://shop.example/"},
                            "children": [
                                {"name": "placed", "children": ["2006-05-17T00:00:00"]},
                                {"name": "count", "children": ["5"]},
                            ],
                        }
                    ],
                },
            ],
        },
    }


def test_the_envelope_of_the_specification_reads_as_shown() -> None:
    """[MC-NBFS] 3."""
    assert read_wcf(preamble() + SPECIFICATION_ENVELOPE)[1] == SPECIFICATION_XML


def test_the_preamble_of_the_specification_reads_as_shown() -> None:
    """[MS-NMFMB] 4, which has no envelope."""
    data = bytes.fromhex(
        "00010001 04022B6E 65742E6D 736D713A 2F2F6C6F 63616C68 6F73742F 70726976"
        "6174652F 7472616E 73616374 696F6E61 6C710307"
    )
    assert read_wcf(data) == (
        {
            "version": "1.0",
            "mode": "singleton-sized",
            "via": "net.msmq://localhost/private/transactionalq",
            "encoding": "binary",
            "envelopes": [],
        },
        "",
    )


@pytest.mark.parametrize("tail", [b"", b"\x07"])
def test_the_records_of_the_model_are_read_too(tail: bytes) -> None:
    """[MS-NMFMB] 3.1.1.1: an envelope record and an end record, which WCF leaves out."""
    for data in (SPECIFICATION_ENVELOPE + tail, sized(SPECIFICATION_ENVELOPE) + tail):
        assert read_wcf(preamble() + data)[1] == SPECIFICATION_XML


TABLE: Final = bytes.fromhex("1106616374696F6E09496E76656E746F7279")
NUMBERED: Final = bytes.fromhex("56020B0161060B0173045608440A1E0082AB0101560E4203810101")


def test_a_session_keeps_its_strings() -> None:
    """[MC-NBFSE] 3: the second document needs no table."""
    records = b"\x0c" + sized(TABLE + NUMBERED) + sized(b"\x00" + NUMBERED) + b"\x07"
    tree, xml = read_wcf(preamble(mode=3, encoding=b"\x03\x08") + records)
    assert xml == f"{SPECIFICATION_XML}\n{SPECIFICATION_XML}"
    assert isinstance(tree, dict)
    assert (tree["mode"], tree["encoding"]) == ("simplex", "binary-session")
    assert isinstance(tree["envelopes"], list)
    assert len(tree["envelopes"]) == 2


def test_a_table_may_follow_the_preamble_directly() -> None:
    data = preamble(encoding=b"\x03\x08") + TABLE + NUMBERED
    assert read_wcf(data)[1] == SPECIFICATION_XML
    short = preamble(encoding=b"\x03\x08") + b"\x06\x05abcde" + element("a", b"\xaa\x01")
    assert read_wcf(short)[1] == "<a>abcde</a>"


def test_chunks_are_one_envelope() -> None:
    """[MC-NMF] 2.2.4.3."""
    chunks = b"\x05\x03" + SPECIFICATION_ENVELOPE[:3] + b"\x27" + SPECIFICATION_ENVELOPE[3:]
    assert read_wcf(preamble(mode=1) + chunks + b"\x00\x07")[1] == SPECIFICATION_XML


def test_upgrades_before_the_envelope_are_passed_over() -> None:
    upgrade = b"\x09" + word("application/negotiate") + b"\x0a\x0c\x0b"
    assert read_wcf(preamble(mode=2) + upgrade + sized(element("a")))[1] == "<a></a>"


@pytest.mark.parametrize(
    ("code", "codec", "name"),
    [
        (0, "utf-8", "soap11-utf8"),
        (1, "utf-16", "soap11-utf16"),
        (2, "utf-16-le", "soap11-unicode-le"),
        (3, "utf-8-sig", "soap12-utf8"),
        (4, "utf-16", "soap12-utf16"),
        (5, "utf-16-le", "soap12-unicode-le"),
    ],
)
def test_soap_in_characters_is_its_text(code: int, codec: str, name: str) -> None:
    tree, xml = read_wcf(preamble(encoding=bytes([3, code])) + "<Größe/>".encode(codec))
    assert isinstance(tree, dict)
    assert (tree["encoding"], tree["envelope"], xml) == (name, "<Größe/>", "<Größe/>")


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        (b"\x03\x06", "soap12-mtom"),
        (b"\x03\x09", "9"),
        (b"\x04" + word("application/x-own"), "application/x-own"),
    ],
)
def test_other_encodings_stay_bytes(encoding: bytes, name: str) -> None:
    tree, xml = read_wcf(preamble(encoding=encoding) + b"\x01\x02")
    assert isinstance(tree, dict)
    assert (tree["encoding"], tree["envelope"], xml) == (name, b"\x01\x02", "")


def test_an_unknown_mode_is_its_number() -> None:
    tree, _ = read_wcf(preamble(mode=9) + sized(element("a")))
    assert isinstance(tree, dict)
    assert tree["mode"] == "9"


def test_comments_beside_the_root_are_kept() -> None:
    tree, xml = read_wcf(preamble() + b"\x02" + word("c") + element("a", chars("x")))
    assert isinstance(tree, dict)
    assert tree["envelope"] == [{"comment": "c"}, {"name": "a", "children": ["x"]}]
    assert xml == "<!--c--><a>x</a>"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "needs 1 bytes"),
        (b"<?xml", "not the VERSION record"),
        (b"\x00\x02\x00", "unknown version 2"),
        (b"\x00\x01\x00\x02", "not the MODE record"),
        (b"\x00\x01\x00\x01\x04\x03", "not the VIA record"),
        (b"\x00\x01\x00\x01\x04\x02\xff\xff\xff\xff\x07", "needs 2147483647 bytes"),
        (preamble(encoding=b"\x05"), "not an encoding record"),
        (preamble() + b"\x02\x01c", "not one element"),
        (preamble() + b"\x03\x40\x01a\x01\xb5\x02\x00\x01", "not one element"),
        (preamble() + element("a") + b"\x08", "more after the end"),
        (preamble() + element("a") + b"\x07\x07", "more after the end"),
        (preamble() + b"\x42\x01\x01", "string 1 is not defined"),
        (preamble() + b"\x06", "0x06 is out of place"),
        (preamble(mode=3) + b"\x08", "0x08 is out of place"),
        (preamble(mode=3) + b"\x06\xff\xff\xff\xff\x07", "needs 2147483647 bytes"),
        (preamble(mode=3) + sized(element("a") + b"\x07"), "more after the end"),
        (preamble(mode=1) + b"\x05\x01", "needs 1 bytes"),
    ],
)
def test_what_is_no_such_message_is_refused(data: bytes, reason: str) -> None:
    assert reason in refused(data)


def test_a_table_string_cannot_be_repeated_without_end() -> None:
    """[MC-NBFSE] 4, also over several documents of a session."""
    table = b"\x92\x4e\x90\x4e" + b"x" * 10_000
    document = element("a", b"\xaa\x01" * 100)
    records = b"".join(sized(b"\x00" + document) for _ in range(100))
    first = table + document
    head = b"\x06" + bytes([len(first) & 0x7F | 0x80, len(first) >> 7]) + first
    assert "far more text" in refused(preamble(mode=3, encoding=b"\x03\x08") + head + records)
