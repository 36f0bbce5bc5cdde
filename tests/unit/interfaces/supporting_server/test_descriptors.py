"""Security descriptors of queues, part by part."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalSecurityDescriptor, InvalidParameter
from openmsmq.interfaces.supporting_server.descriptors import checked_descriptor, merged, selected
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.sddl import parse_sddl

KEPT = "O:BAG:SYD:(A;;0x3;;;WD)"
GIVEN = parse_sddl("O:SYG:BAD:(A;;0x4;;;WD)")


def test_a_descriptor_is_there_and_sound_or_not_there() -> None:
    """MQMP-145, MQMP-146"""
    assert checked_descriptor(0, None) is None
    assert checked_descriptor(4, GIVEN.encode()) == GIVEN
    for size, data in ((4, None), (3, b"abc"), (20, bytes(20))):
        with pytest.raises(IllegalSecurityDescriptor):
            checked_descriptor(size, data)


@pytest.mark.parametrize("information", range(16))
def test_the_parts_that_are_named_are_taken(information: int) -> None:
    """MQMP-166, MQMP-172 to MQMP-176"""
    after, kept = parse_sddl(merged(KEPT, GIVEN, information)), parse_sddl(KEPT)
    seen = SecurityDescriptor.decode(selected(KEPT, information))
    for bit, part in ((1, "owner"), (2, "group"), (4, "dacl"), (8, "sacl")):
        is_named = bool(information & bit)
        assert getattr(after, part) == getattr(GIVEN if is_named else kept, part)
        assert getattr(seen, part) == (getattr(kept, part) if is_named else None)


def test_other_parts_are_refused() -> None:
    for work in (lambda: merged(KEPT, GIVEN, 16), lambda: selected(KEPT, 0x80000000)):
        with pytest.raises(InvalidParameter):
            work()
