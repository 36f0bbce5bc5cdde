"""Messages in the data of a session."""

from __future__ import annotations

from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.transports.pgm.messages import MessageReader, MulticastMessage, pack_message
from openmsmq.transports.pgm.packets import ApduFragment, PgmData, Tsi

TSI = Tsi(b"source", 49153)
GROUP = IPv4Address("234.1.1.1")


def data(number: int, content: bytes, fragment: ApduFragment | None = None) -> PgmData:
    return PgmData(TSI, 8001, (), number, 1, content, fragment)


def message(content: bytes) -> bytes:
    return pack_message(GROUP, 8001, "text/xml", content)


def read(reader: MessageReader, *packets: PgmData) -> list[bytes]:
    return [found.content for packet in packets for found in reader.add(packet)]


def test_a_message_has_the_header_of_msmq() -> None:
    """PGM-047, SRMP-037: and nothing but its length and type count."""
    raw = message(b"<x/>")
    assert raw.startswith(b"POST 234.1.1.1:8001 HTTP/1.1\r\nHost: 234.1.1.1:8001\r\n")
    assert b'SOAPAction: "MSMQMessage"\r\nProxy-Accept: NonInteractiveClient\r\n\r\n' in raw
    other = b"POST / HTTP/9\r\ncontent-LENGTH:4\r\nX: y\r\nContent-Type:  a/b \r\n\r\n<x/>"
    assert list(MessageReader().add(data(1, other))) == [MulticastMessage("a/b", b"<x/>")]


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 90))
def test_messages_are_found_wherever_they_are_cut(contents: list[bytes], size: int) -> None:
    """PGM-048: several in an APDU, or one over several."""
    stream = b"".join(message(b"-" + content) for content in contents)
    cuts = [stream[at : at + size] for at in range(0, len(stream), size)]
    found = read(MessageReader(), *(data(n, cut) for n, cut in enumerate(cuts) if cut))
    if not any(cut.startswith(b"POST ") for cut in cuts[1:]):
        assert found == [b"-" + content for content in contents]


def test_a_message_that_begins_ends_one_that_is_incomplete() -> None:
    """PGM-049."""
    reader = MessageReader()
    assert read(reader, data(1, message(b"lost")[:-1]), data(2, message(b"new"))) == [b"new"]
    assert reader.counts["incomplete messages"] == 1


def test_a_message_needs_a_length_that_it_may_have() -> None:
    """PGM-050."""
    reader = MessageReader()
    for header in (b"", b"Content-Length: 65536\r\n", b"Content-Length: -1\r\n"):
        assert not read(reader, data(1, b"POST x HTTP/1.1\r\n" + header + b"\r\n"))
    assert read(reader, data(2, message(b"next"))) == [b"next"]
    assert reader.counts["not a message"] == 3


def test_what_is_no_message_is_dropped() -> None:
    assert not read(MessageReader(), data(1, b"GET / HTTP/1.1\r\n\r\n"))


def test_a_header_without_an_end_does_not_grow() -> None:
    reader = MessageReader()
    for number in range(200):
        assert not read(reader, data(number, (b"POST " if not number else b"") + b"x" * 1000))
    assert reader.counts["not a message"] > 0


def test_fragments_are_joined_in_order_only() -> None:
    """PGM-044, PGM-045, PGM-096: what began before reception is passed over."""
    whole = message(b"fragments")
    length = len(whole)
    parts = [ApduFragment(4, 0, length), ApduFragment(4, 50, length)]
    first, last = data(4, whole[:50], parts[0]), data(5, whole[50:], parts[1])
    reader = MessageReader()
    assert not read(reader, last)
    assert not reader.counts, "a late joiner has seen no first part"
    for _ in range(2):
        assert read(reader, first, last) == [b"fragments"]
    other = data(5, whole[50:], ApduFragment(3, 50, length))
    assert not read(reader, first, other)
    assert reader.counts["bad fragments"] == 1
    assert not read(reader, first, data(6, whole[60:], ApduFragment(4, 60, length)))
    assert read(reader, data(7, message(b"next"))) == [b"next"]


def test_a_restart_drops_what_is_incomplete() -> None:
    reader = MessageReader()
    read(reader, data(1, message(b"lost")[:-1]))
    reader.restart()
    reader.restart()
    assert reader.counts["incomplete messages"] == 1
    assert not read(reader, data(2, b"t"))


def test_a_fragment_from_before_a_restart_is_not_completed() -> None:
    """PGM-049: what was lost between may have been of another message."""
    raw = message(b"of two parts")
    reader = MessageReader()
    parts = [data(7, raw[:20], ApduFragment(7, 0, len(raw)))]
    parts.append(data(8, raw[20:], ApduFragment(7, 20, len(raw))))
    assert read(reader, parts[0]) == []
    reader.restart()
    assert read(reader, parts[1]) == []
    assert reader.counts == {"incomplete messages": 1}
    assert read(reader, *parts) == [b"of two parts"]
