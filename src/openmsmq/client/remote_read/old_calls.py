"""Between the values of RemoteRead and those of older remote read ([MS-MQQP] 3.2.4)."""

from __future__ import annotations

from typing import Any, Final

from openmsmq.errors import OperationCancelled
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.qm2qm.transfer_buffer import FIELDS, SendPart, TransferBuffer1, blank
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.sections import message_packet, sections_of
from openmsmq.limits import U32_MAX
from openmsmq.packet.origin import without_origin
from openmsmq.packet.view import PacketView

UNSUPPORTED: Final = (
    "the manager has older remote read only (MS-MQQP), without moves and transactions"
)
NEW_VERSION: Final = 5, 1, 951
"From this version on RemoteQMStartReceive2 is there ([MS-MQQP] 3.2.4.2; SS-42)."
_make: Final[Any] = TransferBuffer1
_part: Final[Any] = SendPart
NO_BUFFER: Final[Any] = _make(**blank(FIELDS) | {"part": _part(None, None)})
"An empty CACTransferBufferV1, which R_QMCreateRemoteCursor does not look at ([MS-MQMP] note 29)."


def is_newer(version: old.VersionResult) -> bool:
    """Whether a manager knows RemoteQMStartReceive2 ([MS-MQQP] 3.2.4.2)."""
    return (version.major, version.minor, version.build) >= NEW_VERSION


def read_description(number: int, asked: Any, request_id: int) -> old.ReadDescription:
    """REMOTEREADDESC of a read of RemoteRead: no size, no buffer ([MS-MQQP] 2.2.2.1)."""
    action, timeout, cursor = asked.action, asked.timeout_ms, asked.cursor
    return old.ReadDescription(
        number, cursor, action, timeout, 0, number, request_id, 0, 0, 0, None
    )


def read_results(found: old.StartReadResult | old.StartRead2Result) -> stubs.ReceiveResults:
    """What a read of RemoteRead answers.

    A read that was cancelled is none that succeeded, though its code is no failure ([MS-MQQP]
    3.1.4.6). Reserved and eAckNack mean nothing ([MS-MQQP] 2.2.2.1). Plain packets get the headers
    that RemoteRead has behind them.
    """
    described, sequence_id = found.description, 0
    if isinstance(described, old.ReadDescription2):
        sequence_id = described.sequence_id
        described = described.description or old.ReadDescription(*(0,) * 10, None)
    result = OperationCancelled.hresult if found.result == old.CANCELED else found.result
    if result:
        return stubs.ReceiveResults(0, 0, 0, None, result)
    packet = message_packet(without_origin(PacketView.parse(described.data or b"").data))
    sections = sections_of(packet, U32_MAX)
    return stubs.ReceiveResults(described.arrive_time, sequence_id, len(sections), sections, result)
