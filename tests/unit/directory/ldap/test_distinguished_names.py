from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.directory.ldap.distinguished_names import child, escape, key, parent, split
from openmsmq.errors import InvalidParameter

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(VALUES)
def test_every_name_of_a_queue_comes_back(value: str) -> None:
    """MQDS-044"""
    name = child("CN", value, "CN=msmq,DC=x")
    assert split(name)[0] == ("CN", value)
    assert parent(name) == "CN=msmq,DC=x"


def test_hex_escapes_are_read() -> None:
    """MQDS-044"""
    assert split(r"CN=a\3Db\#c,DC=x") == [("CN", "a=b#c"), ("DC", "x")]
    assert escape("a=b#c, d") == r"a\=b#c\, d"
    assert escape("#1 ") == r"\#1\ "
    assert escape("\n") == r"\0A"


def test_ways_to_write_a_name_have_one_key() -> None:
    assert key(r"CN=A\3Db , DC=X") == key("cn=a\\=b,dc=x")


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        split("CN=a,b")
    assert parent("DC=x") == ""
