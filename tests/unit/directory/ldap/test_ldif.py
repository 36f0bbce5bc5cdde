from __future__ import annotations

import pytest

from openmsmq.directory.ldap.ldif import LdifRecord, parse_ldif
from openmsmq.errors import InvalidParameter

TEXT = """version: 1
# a comment
dn: CN=orders,DC=x
objectClass: mSMQQueue
mSMQLabelEx: a long
  label
mSMQQueueType:: MyIR

dn: CN=y
changetype: modify
replace: cn
cn: z
"""


def test_records_are_read() -> None:
    attributes = {
        "objectClass": [b"mSMQQueue"],
        "mSMQLabelEx": [b"a long label"],
        "mSMQQueueType": [bytes.fromhex("332211")],
    }
    assert list(parse_ldif(TEXT)) == [
        LdifRecord("CN=orders,DC=x", attributes),
        LdifRecord("CN=y", {"cn": [b"z"]}, is_change=True),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [("cn: a", "line 1: dn is missing"), ("dn: a\n!", "line 2"), ("dn: a\ncn:: !", "line 2")],
)
def test_a_wrong_line_is_named(text: str, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        list(parse_ldif(text))
