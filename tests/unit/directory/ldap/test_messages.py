from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ldap_server import result

from openmsmq.directory.ldap import ber, messages
from openmsmq.directory.ldap.filters import ANYTHING
from openmsmq.directory.ldap.messages import LdapAnswer, LdapOperation, Other, Row, decode
from openmsmq.directory.ldap.tree import Change, LdapEntry, SearchScope
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader


def test_a_bind_is_of_version_3() -> None:
    """MQDS-004"""
    for request in (messages.simple_bind("u", "p"), messages.sasl_bind("GSS-SPNEGO", b"t")):
        content = ber.read(Reader(request), LdapOperation.BIND_REQUEST)
        assert ber.read_integer(content) == 3


def test_a_search_has_no_limit_of_size_and_one_of_time() -> None:
    """MQDS-015"""
    request = messages.search("DC=x", SearchScope.SUBTREE, ANYTHING, ["cn"], 120)
    content = ber.read(Reader(request), LdapOperation.SEARCH_REQUEST)
    assert ber.read_text(content) == "DC=x"
    assert ber.read_integer(content, ber.ENUMERATED) == 2
    ber.read_integer(content, ber.ENUMERATED)
    assert (ber.read_integer(content), ber.read_integer(content)) == (0, 120)


def test_a_change_says_what_is_replaced() -> None:
    request = messages.modify("CN=x", [Change("cn", [b"a"]), Change("member", [b"b"], "add")])
    content = ber.read(Reader(request), LdapOperation.MODIFY_REQUEST)
    assert ber.read_text(content) == "CN=x"
    kinds = [
        ber.read_integer(item, ber.ENUMERATED)
        for _, item in ber.members(ber.read(content, ber.SEQUENCE))
    ]
    assert kinds == [2, 0]


def test_answers_are_read() -> None:
    value = ber.element(ber.SEQUENCE, ber.integer(0), ber.octets(b"next"))
    control = messages.control(messages.PAGED, value)
    data = messages.message(7, result(LdapOperation.SEARCH_REQUEST, 32, "gone"), [control])
    assert decode(data) == LdapAnswer(7, LdapOperation.SEARCH_ANSWER, 32, "gone", b"", b"next")
    bound = result(LdapOperation.BIND_REQUEST, 14, "", ber.octets(b"token", 0x87))
    assert decode(messages.message(1, bound)) == LdapAnswer(
        1, LdapOperation.BIND_ANSWER, 14, "", b"token"
    )


def test_rows_are_read() -> None:
    attribute = ber.element(
        ber.SEQUENCE, ber.octets("CN"), ber.element(ber.SET, ber.octets("a"), ber.octets("b"))
    )
    content = ber.element(
        LdapOperation.ROW, ber.octets("CN=a"), ber.element(ber.SEQUENCE, attribute)
    )
    assert decode(messages.message(3, content)) == Row(3, LdapEntry("CN=a", {"cn": (b"a", b"b")}))
    reference = ber.element(LdapOperation.REFERENCE, ber.octets("ldap://other"))
    assert decode(messages.message(3, reference)) == Other(3)


@given(st.binary(max_size=60))
def test_garbage_is_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        decode(data)


def test_a_cut_message_is_malformed() -> None:
    data = messages.message(1, result(LdapOperation.ADD_REQUEST, 0))
    for size in range(len(data)):
        with pytest.raises(Malformed):
            decode(data[:size])
