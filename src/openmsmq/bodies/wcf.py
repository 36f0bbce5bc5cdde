"""Messages of WCF services on queues: a framing preamble and an envelope ([MS-NMFMB], [MC-NMF]).

The tree is `{"version", "mode", "via", "encoding", "envelope"}`; a session with several messages
has `envelopes`, a list, instead. Binary SOAP is an element as `nbfx` makes them, SOAP in characters
is its text, any other encoding stays bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from openmsmq.bodies.body import Tree
from openmsmq.bodies.nbf_values import Budget, read_counted, read_int31
from openmsmq.bodies.nbfs import SessionStrings, static_string
from openmsmq.bodies.nbfx import read_nbfx
from openmsmq.wire.reader import Reader


class FramingRecord(enum.IntEnum):
    """Record types ([MC-NMF] 2.2.1)."""

    VERSION = 0x00
    MODE = 0x01
    VIA = 0x02
    KNOWN_ENCODING = 0x03
    EXTENSIBLE_ENCODING = 0x04
    UNSIZED_ENVELOPE = 0x05
    SIZED_ENVELOPE = 0x06
    END = 0x07
    FAULT = 0x08
    UPGRADE_REQUEST = 0x09
    UPGRADE_RESPONSE = 0x0A
    PREAMBLE_ACK = 0x0B
    PREAMBLE_END = 0x0C


class FramingMode(enum.IntEnum):
    """Mode of a Mode Record ([MC-NMF] 2.2.3.2)."""

    SINGLETON_UNSIZED = 0x01
    DUPLEX = 0x02
    SIMPLEX = 0x03
    SINGLETON_SIZED = 0x04


class Encoding(enum.IntEnum):
    """Encoding of a Known Encoding Record ([MC-NMF] 2.2.3.4.1)."""

    SOAP11_UTF8 = 0x00
    SOAP11_UTF16 = 0x01
    SOAP11_UNICODE_LE = 0x02
    SOAP12_UTF8 = 0x03
    SOAP12_UTF16 = 0x04
    SOAP12_UNICODE_LE = 0x05
    SOAP12_MTOM = 0x06
    BINARY = 0x07
    BINARY_SESSION = 0x08


_CHARACTERS: Final[Mapping[int | None, str]] = {
    Encoding.SOAP11_UTF8: "utf-8-sig",
    Encoding.SOAP11_UTF16: "utf-16",
    Encoding.SOAP11_UNICODE_LE: "utf-16-le",
    Encoding.SOAP12_UTF8: "utf-8-sig",
    Encoding.SOAP12_UTF16: "utf-16",
    Encoding.SOAP12_UNICODE_LE: "utf-16-le",
}
_WITHOUT_DATA = frozenset(
    {FramingRecord.UPGRADE_RESPONSE, FramingRecord.PREAMBLE_ACK, FramingRecord.PREAMBLE_END}
)


def read_wcf(data: bytes) -> tuple[Tree, str]:
    """The message in a body and the XML text of its envelope, empty if it stays bytes."""
    reader = Reader(data)
    _expect(reader, FramingRecord.VERSION)
    major, minor = reader.u8("MajorVersion"), reader.u8("MinorVersion")
    if major != 1:
        reader.fail("MajorVersion", f"unknown version {major}", offset=1)
    _expect(reader, FramingRecord.MODE)
    mode = reader.u8("Mode")
    _expect(reader, FramingRecord.VIA)
    via = read_counted(reader, "Via").decode("utf-8", "replace")
    encoding, encoding_name = _read_encoding(reader)
    envelopes, texts = _Envelopes(reader, encoding).read(mode)
    tree: dict[str, Tree] = {
        "version": f"{major}.{minor}",
        "mode": _name(FramingMode, mode),
        "via": via,
        "encoding": encoding_name,
    }
    if len(envelopes) == 1:
        return {**tree, "envelope": envelopes[0]}, texts[0]
    return {**tree, "envelopes": envelopes}, "\n".join(texts)


def _expect(reader: Reader, record: FramingRecord) -> None:
    start = reader.offset
    if reader.u8("RecordType") != record:
        reader.fail("RecordType", f"not the {record.name} record", offset=start)


def _name(kind: type[enum.IntEnum], code: int) -> str:
    """`singleton-sized` and the like; a code without a name is its number."""
    return kind(code).name.lower().replace("_", "-") if code in set(kind) else str(code)


def _read_encoding(reader: Reader) -> tuple[int | None, str]:
    """Envelope Encoding Record ([MC-NMF] 2.2.3.4): the code if it has one, and a name."""
    start = reader.offset
    record = reader.u8("RecordType")
    if record == FramingRecord.KNOWN_ENCODING:
        code = reader.u8("Encoding")
        return code, _name(Encoding, code)
    if record != FramingRecord.EXTENSIBLE_ENCODING:
        reader.fail("RecordType", "not an encoding record", offset=start)
    return None, read_counted(reader, "Encoding").decode("utf-8", "replace")


class _Envelopes:
    """What follows the preamble."""

    def __init__(self, reader: Reader, encoding: int | None) -> None:
        self._reader = reader
        self._encoding = encoding
        self._budget = Budget(reader)
        self._session = SessionStrings()

    def read(self, mode: int) -> tuple[list[Tree], list[str]]:
        """The envelopes and their texts."""
        trees, texts = [], []
        single = mode == FramingMode.SINGLETON_SIZED and self._reader.remaining > 0
        direct = single and not self._is_one_sized_record()
        for payload in iter([self._reader]) if direct else self._payloads():
            tree, text = self._read_envelope(payload)
            # The model ends every message with an End Record ([MS-NMFMB] 3.1.1.1).
            if payload.remaining and not (direct and payload.data[payload.offset :] == b"\x07"):
                payload.fail("Envelope", "more after the end of the envelope")
            trees.append(tree)
            texts.append(text)
        return trees, texts

    def _is_one_sized_record(self) -> bool:
        """Whether a single message has the record around it that WCF itself leaves out.

        The specification lists a Sized Envelope Record ([MS-NMFMB] 3.1.1.1), yet WCF writes the
        envelope directly. The record is taken for one if it ends where the body does.
        """
        ahead = Reader(self._reader.data, self._reader.offset)
        if ahead.remaining < 2 or ahead.u8("RecordType") != FramingRecord.SIZED_ENVELOPE:
            return False
        size = read_int31(ahead, "Size")
        return ahead.remaining in (size, size + 1)

    def _payloads(self) -> Iterator[Reader]:
        """The payload of each envelope record up to an End Record or the end of the data."""
        reader = self._reader
        while reader.remaining:
            start = reader.offset
            record = reader.u8("RecordType")
            if record == FramingRecord.SIZED_ENVELOPE:
                size = read_int31(reader, "Size")
                begin = reader.need(size, "Payload")
                yield Reader(reader.data, begin, begin + size)
            elif record == FramingRecord.UNSIZED_ENVELOPE:
                yield Reader(_read_chunks(reader))
            elif record == FramingRecord.END:
                return
            elif record == FramingRecord.UPGRADE_REQUEST:
                read_counted(reader, "UpgradeProtocol")
            elif record not in _WITHOUT_DATA:
                reader.fail("RecordType", f"0x{record:02X} is out of place", offset=start)

    def _read_envelope(self, payload: Reader) -> tuple[Tree, str]:
        """One envelope and its XML text ([MC-NMF] 2.2.3.4.1)."""
        if self._encoding in _CHARACTERS:
            raw = payload.take(payload.remaining, "Payload")
            text = raw.decode(_CHARACTERS[self._encoding], "replace")
            return text, text
        if self._encoding == Encoding.BINARY_SESSION:
            self._session.read_table(payload)
            lookup = self._session.lookup
        elif self._encoding == Encoding.BINARY:
            lookup = static_string
        else:
            return payload.take(payload.remaining, "Payload"), ""
        nodes, text = read_nbfx(payload, lookup, self._budget)
        if sum(isinstance(node, dict) and "name" in node for node in nodes) != 1:
            payload.fail("Envelope", "not one element")
        return nodes[0] if len(nodes) == 1 else nodes, text


def _read_chunks(reader: Reader) -> bytes:
    """The data chunks of an Unsized Envelope Record ([MC-NMF] 2.2.4.3)."""
    chunks = []
    while size := read_int31(reader, "Size"):
        chunks.append(reader.take(size, "Payload"))
    return b"".join(chunks)
