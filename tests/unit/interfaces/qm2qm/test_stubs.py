"""The layout of qm2qm's arguments."""

from __future__ import annotations

import pytest
from tests.unit.interfaces.qm2qm.test_server import description

from openmsmq.errors import Malformed
from openmsmq.interfaces.qm2qm import stubs
from openmsmq.interfaces.qm2qm.stubs import QM2QM
from openmsmq.rpc.ndr.structure import NULL_HANDLE


def test_a_description_has_44_bytes_and_its_buffer() -> None:
    """MQQP-005, MQQP-029, MQQP-030, MQQP-031, MQQP-034, MQQP-035, MQQP-222, MQQP-223"""
    assert str(QM2QM.uuid) == "1088a980-eae5-11d0-8d9b-00a02453c337"
    plain = description(7)
    assert len(stubs.StartRead(plain).encode()) == 44
    second = stubs.ReadDescription2(plain, 5)
    stub = stubs.StartRead2(second).encode()
    assert len(stub) == 60
    assert stub[8:16] == (5).to_bytes(8, "little")
    assert stubs.StartReadByLookup(9, second).encode()[:8] == (9).to_bytes(8, "little")
    full = description(7, size=3, data=b"abc")
    reply = stubs.StartReadResult(NULL_HANDLE, full, 0).encode()
    assert reply[20 + 44 : 20 + 56] == bytes.fromhex("03000000 00000000 03000000")
    assert stubs.StartReadResult.decode(reply).description.data == b"abc"


def test_a_size_beyond_the_limit_is_malformed() -> None:
    """In answers, too."""
    reply = stubs.StartReadResult(NULL_HANDLE, description(7), 0).encode()
    lying = reply[:36] + (0x420001).to_bytes(4, "little") + reply[40:]
    with pytest.raises(Malformed):
        stubs.StartReadResult.decode(lying)
