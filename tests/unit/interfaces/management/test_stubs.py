"""The layout of qmmgmt's arguments."""

from __future__ import annotations

from tests.strategies.managed import get_info, queue_object

from openmsmq.interfaces.management.stubs import (
    MANAGEMENT,
    THE_MACHINE,
    ActionArguments,
    GetInfo,
    GetInfoResults,
)
from openmsmq.interfaces.variants import NULL


def test_the_interface_has_its_identifier() -> None:
    """MQMR-003"""
    assert str(MANAGEMENT.uuid) == "41208ee0-e970-11d1-9b9e-00e02c064c39"


def test_an_object_has_a_type_and_a_tag_of_two_bytes() -> None:
    """MQMR-029, MQMR-030, MQMR-031: and every variant begins at a multiple of 8."""
    stub = get_info(THE_MACHINE, [4, 5]).encode()
    assert stub[:8] == bytes.fromhex("01000100 00000000")
    assert len(stub) == 0x20 + 16 + 10
    assert stub[0x20:0x2A] == stub[0x30:0x3A] == bytes.fromhex("0100 0000 00000000 0100")
    named = GetInfo.decode(get_info(queue_object("DIRECT=OS:h\\q"), [7]).encode())
    assert named.managed == queue_object("DIRECT=OS:h\\q")


def test_values_come_back_alone() -> None:
    results = GetInfoResults((NULL,), 0xC00E0001)
    assert GetInfoResults.decode(results.encode()) == results


def test_the_word_is_a_string() -> None:
    """MQMR-036"""
    stub = ActionArguments(THE_MACHINE, "TIDY").encode()
    assert stub[8:] == bytes.fromhex("05000000 00000000 05000000") + "TIDY\0".encode("utf-16-le")
