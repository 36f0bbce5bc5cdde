"""Permissions in words that people use."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.security.descriptor import Ace, AceType
from openmsmq.security.limits import ENTRIES_MAX
from openmsmq.security.permissions import (
    QUEUE_WORDS,
    format_rights,
    normal_permissions,
    parse_entry,
    parse_rights,
)
from openmsmq.security.principals import parse_principal


@pytest.mark.parametrize(("word", "right"), QUEUE_WORDS.items())
def test_rights_have_names(word: str, right: QueueRights) -> None:
    assert parse_rights(word.upper(), QueueRights) == right
    assert parse_rights(format_rights(right, QueueRights).replace(" ", ""), QueueRights) == right


def test_several_rights_and_names_of_the_specification() -> None:
    wanted = QueueRights.WRITE_MESSAGE | QueueRights.PEEK_MESSAGE
    assert parse_rights("send, peek", QueueRights) == wanted
    assert parse_rights("write_message,PEEK_MESSAGE", QueueRights) == wanted
    assert format_rights(wanted, QueueRights) == "send, peek"
    assert format_rights(0x203, QueueRights) == "receive, 0x200"
    assert format_rights(0x9, QueueRights) == "DELETE_MESSAGE, DELETE_JOURNAL_MESSAGE"
    assert parse_rights("DELETE_MESSAGE, DELETE_JOURNAL_MESSAGE", QueueRights) == 0x9
    assert parse_rights("create-queue", ManagerRights) == ManagerRights.CREATE_QUEUE


def test_entries() -> None:
    found = parse_entry("certificate:CN=shop=send", QueueRights, AceType.DENIED)
    assert found == Ace(AceType.DENIED, 4, parse_principal("certificate:CN=shop"))


@pytest.mark.parametrize("text", ["send", "=send", "everyone=", "everyone=fly", "everyone"])
def test_an_entry_that_makes_no_sense(text: str) -> None:
    with pytest.raises(IllegalSecurityDescriptor):
        parse_entry(text, QueueRights, AceType.ALLOWED)


def test_generic_rights_are_mapped_when_a_descriptor_is_set() -> None:
    "MSEC-162"
    given = "O:BAD:(A;;GA;;;BA)(A;;GR;;;AU)(A;;GWGX;;;WD)"
    expected = "O:BAD:(A;;CCDCLCSWRPWPSDRCWDWO;;;BA)(A;;CCDCSWWPRC;;;AU)(A;;LCWPRC;;;WD)"
    assert normal_permissions(given, QueueRights) == expected
    assert normal_permissions("", QueueRights) == ""


@pytest.mark.parametrize("mask", ["DT", "0x100", "0x1000000"])
def test_rights_a_queue_does_not_have_are_refused(mask: str) -> None:
    "MSEC-162"
    with pytest.raises(IllegalSecurityDescriptor):
        normal_permissions(f"O:BAD:(A;;{mask};;;WD)", QueueRights)


def test_a_list_has_a_bound() -> None:
    entry = "(A;;LC;;;WD)"
    assert normal_permissions("D:" + entry * ENTRIES_MAX, QueueRights)
    with pytest.raises(IllegalSecurityDescriptor):
        normal_permissions("D:" + entry * (ENTRIES_MAX + 1), QueueRights)
