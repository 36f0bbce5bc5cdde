"""CACTransferBufferV1."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.qm2qm.transfer_buffer import FIELDS, TransferBuffer1


def test_an_empty_buffer_has_228_bytes_and_is_read_again() -> None:
    found = TransferBuffer1.decode(bytes(228))
    assert found.encode() == bytes(228)
    assert len(FIELDS) == len(TransferBuffer1.__dataclass_fields__)  # type: ignore[attr-defined]


def test_pointers_and_sizes_that_lead_nowhere_are_malformed() -> None:
    for offset in range(16, 228, 4):
        broken = bytes(offset) + b"\xff\xff\xff\xff" + bytes(228 - offset - 4)
        try:
            TransferBuffer1.decode(broken)
        except Malformed:
            continue
    with pytest.raises(Malformed):
        TransferBuffer1.decode(b"\3" + bytes(227))
