"""Arguments and results of qm2qm ([MS-MQQP] 2.2, 3.1.4), and those of qmcomm that go with it."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, Final

from openmsmq.interfaces.limits import READ_SIZE_MAX
from openmsmq.interfaces.qm2qm.transfer_buffer import TransferBuffer1
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.rpc.ndr.kinds import ByteArray, NdrKind, Pointer
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U8, U16, U32, U64, Guid

QM2QM: Final = SyntaxId.of("1088a980-eae5-11d0-8d9b-00a02453c337", 1)
"Older remote read ([MS-MQQP] 1.9)."
QMCOMM: Final = SyntaxId.of("fdb3a030-065f-11d1-bb9b-00a024ea5525", 1)
"The supporting server, of which every host has a part ([MS-MQMP] 1.9, 3.1.4)."
CANCELED: Final = 0x400E03E9
"""MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT: a read that was cancelled; not a failure code
([MS-MQQP] 3.1.4.6).
"""
_TRANSFER_BUFFER: Final[NdrKind] = nested(TransferBuffer1)


class Qm2qmOpnum(IntEnum):
    """Operations of qm2qm ([MS-MQQP] 3.1.4)."""

    START_RECEIVE = 0
    END_RECEIVE = 1
    OPEN_QUEUE = 2
    CLOSE_QUEUE = 3
    CLOSE_CURSOR = 4
    CANCEL_RECEIVE = 5
    PURGE_QUEUE = 6
    GET_SERVER_PORT = 7
    GET_VERSION = 8
    START_RECEIVE_2 = 9
    START_RECEIVE_BY_LOOKUP_ID = 10


class QmcommOpnum(IntEnum):
    """Operations of qmcomm that every queue manager has ([MS-MQMP] 3.1.4)."""

    OPEN_REMOTE_QUEUE = 2
    CLOSE_REMOTE_QUEUE_CONTEXT = 3
    CREATE_REMOTE_CURSOR = 4
    GET_SERVER_PORT = 31


@structure
class OpenRemoteQueue(Structure):
    """R_QMOpenRemoteQueue ([MS-MQMP] 3.1.4.2)."""

    queue_format: Annotated[QueueFormatArgument | None, Pointer(nested(QueueFormatArgument))]
    process: U32
    access: U32
    share_mode: U32
    licence: Guid
    platform: U32


@structure
class OpenedRemoteQueue(Structure):
    """What it answers: the three numbers are one."""

    handle: ContextHandle
    context: U32
    pointer: U32
    queue: U32
    result: U32


@structure
class HandleArgument(Structure):
    """A context handle alone."""

    handle: ContextHandle


@structure
class HandleResult(Structure):
    """A context handle and an HRESULT."""

    handle: ContextHandle
    result: U32


@structure
class CreateRemoteCursor(Structure):
    """R_QMCreateRemoteCursor ([MS-MQMP] 3.1.4.4): the buffer means nothing."""

    buffer: Annotated[Any, _TRANSFER_BUFFER]
    queue: U32


@structure
class TwoNumbers(Structure):
    """Two numbers: a queue and a cursor, or a cursor and an HRESULT."""

    first: U32
    second: U32


@structure
class OneNumber(Structure):
    """A number: a queue, a port, or an HRESULT."""

    number: U32


@structure
class PortType(Structure):
    """RemoteQMGetQMQMServerPort ([MS-MQQP] 3.1.4.8)."""

    port_type: Annotated[int, "I", IntegerRange(0, 3)]


@structure
class VersionResult(Structure):
    """What RemoteQmGetVersion answers ([MS-MQQP] 3.1.4.9)."""

    major: U8
    minor: U8
    build: U16


@structure
class OpenSession(Structure):
    """RemoteQMOpenQueue ([MS-MQQP] 3.1.4.3)."""

    licence: Guid
    platform: Annotated[int, "I", IntegerRange(0, 16)]
    queue: U32
    pointer: U32
    context: U32


@structure
class ReadDescription(Structure):
    """REMOTEREADDESC ([MS-MQQP] 2.2.2.1)."""

    queue: U32
    cursor: U32
    action: U32
    timeout_ms: U32
    size: Annotated[int, "I", IntegerRange(0, READ_SIZE_MAX)]
    own_queue: U32
    request_id: U32
    reserved: U32
    arrive_time: U32
    acknowledge: U16
    data: Annotated[
        bytes | None, Pointer(ByteArray(most=READ_SIZE_MAX, size_is="size", length_is="size"))
    ]


@structure
class ReadDescription2(Structure):
    """REMOTEREADDESC2 ([MS-MQQP] 2.2.2.2)."""

    description: Annotated[ReadDescription | None, Pointer(nested(ReadDescription))]
    sequence_id: U64


@structure
class StartRead(Structure):
    """RemoteQMStartReceive ([MS-MQQP] 3.1.4.1)."""

    description: ReadDescription


@structure
class StartReadResult(Structure):
    """What it answers."""

    handle: ContextHandle
    description: ReadDescription
    result: U32


@structure
class StartRead2(Structure):
    """RemoteQMStartReceive2 ([MS-MQQP] 3.1.4.10)."""

    description: ReadDescription2


@structure
class StartRead2Result(Structure):
    """What it and the next answer."""

    handle: ContextHandle
    description: ReadDescription2
    result: U32


@structure
class StartReadByLookup(Structure):
    """RemoteQMStartReceiveByLookupId ([MS-MQQP] 3.1.4.11)."""

    lookup_id: U64
    description: ReadDescription2


@structure
class EndRead(Structure):
    """RemoteQMEndReceive ([MS-MQQP] 3.1.4.2)."""

    handle: ContextHandle
    acknowledge: Annotated[int, "I", IntegerRange(1, 2)]


@structure
class CancelRead(Structure):
    """RemoteQMCancelReceive ([MS-MQQP] 3.1.4.6)."""

    queue: U32
    pointer: U32
    request_id: U32
