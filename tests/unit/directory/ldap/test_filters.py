from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ldap_server import read_filter

from openmsmq.directory.ldap.filters import (
    And,
    Comparison,
    Contains,
    Filter,
    Not,
    Or,
    Present,
    all_of,
    equal,
    escaped,
    parse_filter,
)
from openmsmq.errors import InvalidParameter
from openmsmq.wire.reader import Reader

_NAMES = st.sampled_from(["cn", "mSMQLabelEx", "objectGUID"])
_SIMPLE: st.SearchStrategy[Filter] = st.one_of(
    st.builds(
        Comparison, _NAMES, st.sampled_from(["=", ">=", "<="]), st.binary(min_size=1, max_size=9)
    ),
    st.builds(Present, _NAMES),
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


@given(FILTERS)
def test_text_and_bytes_say_the_same(condition: Filter) -> None:
    assert parse_filter(str(condition)) == condition
    assert read_filter(Reader(condition.encode())) == condition


def test_special_characters_are_escaped() -> None:
    """MQDS-043"""
    assert str(equal("cn", "a*(b)\\c\0")) == r"(cn=a\2a\28b\29\5cc\00)"
    assert parse_filter(r"(cn=a\2a\28b\29\5cc\00)") == equal("cn", "a*(b)\\c\0")
    assert escaped("ä".encode()) == r"\c3\a4"


def test_pieces_of_a_text() -> None:
    found = parse_filter("(cn=a*b*)")
    assert found == Contains("cn", (b"a", b"b", b""))
    assert str(found) == "(cn=a*b*)"
    assert read_filter(Reader(found.encode())) == found


def test_one_condition_alone_needs_no_and() -> None:
    assert all_of(Present("cn")) == Present("cn")


@pytest.mark.parametrize(
    "text", ["", "cn=a", "(cn=a", "(&)", "(!(a=b)(c=d))", "(a>=b*)", "(a=b)x", "(" * 99]
)
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="filter"):
        parse_filter(text)
