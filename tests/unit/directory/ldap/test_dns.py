from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.name_server import REFUSED, TRUNCATED, asked_name, response, words

from openmsmq.directory.ldap.dns import (
    DnsAnswer,
    ServiceRecord,
    decode,
    in_order,
    question,
)
from openmsmq.errors import Malformed

NAME = "_ldap._tcp.dc._msdcs.example.com"
DC1, DC2 = ServiceRecord(0, 100, 389, "dc1.example.com"), ServiceRecord(5, 0, 3389, "dc2")


def test_a_question_asks_for_servers_of_a_service() -> None:
    """MQDS-001: one question of type SRV, with recursion (RFC 1035 4.1.2, RFC 2782)."""
    asked = question(0x1234, NAME)
    assert asked[:12] == words(0x1234, 0x0100, 1, 0, 0, 0)
    assert asked_name(asked) == NAME
    assert asked[-4:] == words(33, 1)


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64, ".".join(["x" * 60] * 5)])
def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    with pytest.raises(Malformed):
        question(1, name)


def test_servers_of_an_answer() -> None:
    """MQDS-001: other records are passed over."""
    asked = question(7, NAME)
    assert decode(response(asked, [DC1, DC2]), 7) == DnsAnswer(0, False, (DC1, DC2))
    nowhere = ServiceRecord(0, 0, 389, "")
    assert decode(response(asked, [nowhere]), 7).records == ()
    alias = bytearray(response(asked, [DC1]))
    alias[len(asked) + 3] = 5  # CNAME
    assert decode(bytes(alias), 7).records == ()
    assert decode(response(asked, [], REFUSED), 7).code == REFUSED
    assert decode(response(asked, [DC1], TRUNCATED), 7) == DnsAnswer(0, True, ())


def test_what_is_no_answer_is_refused() -> None:
    asked = question(7, NAME)
    whole = response(asked, [DC1])
    for wrong in (asked, whole[:-1], whole[:11], whole.replace(words(0xC00C), words(0xFFFF))):
        with pytest.raises(Malformed):
            decode(wrong, 7)
    with pytest.raises(Malformed, match="another question"):
        decode(whole, 8)


def test_names_that_point_at_themselves_end() -> None:
    """A pointer leads further back each time (RFC 1035 4.1.4)."""
    header = words(7, 0x8000, 1, 0, 0, 0)
    for name in (b"\xc0\x0c", b"\x01a\xc0\x0c", b"\xc0\x0e\xc0\x0c"):
        with pytest.raises(Malformed):
            decode(header + name + words(33, 1), 7)
    long = b"".join(b"\x3f" + b"x" * 63 for _ in range(5)) + b"\0"
    with pytest.raises(Malformed, match="characters"):
        decode(header + long + words(33, 1), 7)


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_garbage_is_malformed_or_an_answer(garbage: bytes, tail: bytes) -> None:
    for data in (
        garbage,
        words(7, 0x8000, 1, 1, 0, 0) + garbage,
        response(question(7, "a.b"), [DC1]) + tail,
    ):
        try:
            decode(data, 7)
        except Malformed:
            continue


def test_the_order_is_that_of_priority_and_weight() -> None:
    """RFC 2782: the lowest priority first, among equals by chance and weight."""
    heavy, light = ServiceRecord(0, 90, 389, "heavy"), ServiceRecord(0, 10, 389, "light")
    later = ServiceRecord(1, 0, 389, "later")
    assert in_order([later, heavy, light, light], lambda most: 0) == [light, heavy, later]
    assert in_order([later, heavy, light], lambda most: most) == [heavy, light, later]
    assert in_order([heavy, light], lambda most: min(most, 10)) == [light, heavy]
    assert in_order([heavy, light], lambda most: min(most, 11)) == [heavy, light]
