"""An attacker without a login: what it sends to a queue manager, as a table of shapes.

`python -m bench.attacker HOST PORT COUNT [SHAPE ...]` sends so many to a binary port, the shapes in
turn. `bench.attack` measures what a local program notices of it; `tests/e2e/test_attack.py` asserts
that memory, descriptors and log stay bounded, and that each refusal is counted.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha512
from itertools import cycle, islice
from typing import Final, Literal
from uuid import UUID

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.acks import (
    FinalAckBody,
    OrderAckBody,
    build_final_ack,
    build_order_ack,
    order_queue_at,
)
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.internal import InternalHeader, InternalType
from openmsmq.packet.headers.transaction import TransactionHeader, TxSequenceID
from openmsmq.packet.headers.user import NO_GUID, UserFlags, UserHeaderStart
from openmsmq.properties.message import MessageClass, describe_class

VICTIM: Final = "victim"
"A queue that takes transactional messages, under attack."
PART: Final = 256 << 10
"Bytes of an unfinished packet that come."
TOGETHER: Final = 32
"Connections that are made at the same time."
HELD_MAX: Final = 2000
"Connections that stay open at a time."
WITHIN: Final = 30.0
"Seconds that an answer may take."
_ESTABLISHED: Final = 572 + 32
"Bytes of the answers that make a session."
_FLAGS: Final = BaseHeader.SIZE + UserHeaderStart.offset_of("Flags")
_NAMES: Final = BaseHeader.SIZE + UserHeaderStart.SIZE
QUEUE_NAME_MAX: Final = 124

Port = Literal["binary", "app", "console"]
ENDED: Final = "openmsmq_sessions_ended_total"
REJECTED: Final = "openmsmq_rejected_total"
INCIDENTS: Final = "openmsmq_incidents_total"
UNKNOWN_QUEUE: Final = "openmsmq_messages_rejected_total"


@dataclass(frozen=True, slots=True)
class Shape:
    """Something that is sent again and again."""

    name: str
    data: Callable[[int], bytes]
    "What the one with this number says."
    metric: str = ""
    "What counts the refusal, and why it was refused."
    reason: str = ""
    port: Port = "binary"
    has_session: bool = False
    "A session is established before."
    each: int = 1
    "Packets that go on one connection."
    stays: bool = False
    "The connection is not closed from this side."


def guid(number: int) -> UUID:
    """The identity of a manager that there is not."""
    return UUID(int=0x5BAD_0000_0000_4000_8000 << 48 | number)


def _queue(name: str) -> DirectName:
    return DirectName.from_wire(f"TCP:127.0.0.1\\private$\\{name}")


def _transactional(
    n: int, *, queue: str = VICTIM, source: int | None = None, number: int = 1, admin: str = ""
) -> bytes:
    """A message of a transaction, of a source of the attacker's choice."""
    where = None if not admin else parse_format_name(admin)
    builder = PacketBuilder(guid(n if source is None else source), _queue(queue), admin=where)
    header = TransactionHeader(
        flags=0x1C, tx_sequence_id=TxSequenceID(1, n + 1), tx_sequence_number=number
    )
    acknowledge = 3 if admin else 0
    return builder.build(
        b"x",
        message_id=n + 1,
        acknowledge=acknowledge,
        headers=OptionalHeaders(transaction=header),
    )


def _long_name(n: int) -> bytes:
    """A message for a queue whose name is longer than any can be."""
    packet = _transactional(n, queue="q" * QUEUE_NAME_MAX)
    size = int.from_bytes(packet[_NAMES : _NAMES + 2], "little")
    end = _NAMES + 2 + size
    longer = packet[_NAMES + 2 : end - 2] + "q\0".encode("utf-16-le")
    name = len(longer).to_bytes(2, "little") + longer
    padded = name + bytes(-len(name) % 4)
    rest = packet[_NAMES + (2 + size + 3 & ~3) :]
    made = packet[:_NAMES] + padded + rest
    return made[:8] + len(made).to_bytes(4, "little") + made[12:]


def _with_mode(n: int, mode: int) -> bytes:
    """A message whose delivery mode there is not."""
    packet = bytearray(PacketBuilder(guid(0), _queue(VICTIM)).build(b"x", message_id=n + 1))
    flags = int.from_bytes(packet[_FLAGS : _FLAGS + 4], "little") & ~int(UserFlags.DM)
    packet[_FLAGS : _FLAGS + 4] = (flags | mode << 5).to_bytes(4, "little")
    return bytes(packet)


def _order_ack(n: int) -> bytes:
    body = OrderAckBody(TxSequenceID(1, n), 0xFFFFFFFF, 0)
    queue = order_queue_at("127.0.0.1")
    return build_order_ack(queue, body, source=guid(n), message_id=n + 1, sent_time=0)


def _final_ack(n: int) -> bytes:
    body = FinalAckBody(TxSequenceID(1, n), 1, 0, guid(n), n + 1)
    queue, kind = order_queue_at("127.0.0.1"), MessageClass.NACK_Q_DELETED
    return build_final_ack(queue, body, kind, source=guid(n), message_id=n + 1, sent_time=0)


def establish(n: int) -> bytes:
    """The first packet of an initiator."""
    flags = int(InternalType.ESTABLISH_CONNECTION)
    header = EstablishConnectionHeader(guid(n), NO_GUID, 0, 0x0310)
    return EstablishConnection(header, InternalHeader(flags=flags)).encode()


def parameters() -> bytes:
    """The second one."""
    flags = int(InternalType.CONNECTION_PARAMETERS)
    header = ConnectionParametersHeader(500, 20_000, window_size=64)
    return ConnectionParameters(header, InternalHeader(flags=flags)).encode()


SHAPES: Final = (
    Shape("garbage", lambda n: sha512(b"%d" % n).digest(), ENDED, "bad packet"),
    Shape("another protocol", lambda n: b"GET / HTTP/1.1\r\n\r\n", ENDED, "bad packet"),
    Shape(
        "a length beyond all bounds",
        lambda n: BaseHeader(packet_size=PACKET_SIZE_MAX + 1 + n).pack(),
        ENDED,
        "bad packet",
    ),
    Shape(
        "garbage after a packet",
        lambda n: establish(n) + bytes(32),
        ENDED,
        "bad packet",
    ),
    Shape("a message before a session", _transactional, ENDED, "unexpected packet"),
    Shape("a session twice", lambda n: 2 * establish(n), ENDED, "unexpected packet"),
    Shape(
        "unfinished packets",
        lambda n: BaseHeader(packet_size=PACKET_SIZE_MAX).pack() + bytes(PART),
        ENDED,
        "too much of unfinished packets",
        stays=True,
    ),
    Shape("silent connections", lambda n: b"", ENDED, "too many sessions", stays=True),
    Shape(
        "silent connections to the console",
        lambda n: b"",
        REJECTED,
        "unfinished TLS handshake",
        "console",
        stays=True,
    ),
    Shape(
        "silent connections that should speak TLS",
        lambda n: b"",
        REJECTED,
        "unfinished TLS handshake",
        "app",
        stays=True,
    ),
    Shape("no TLS", lambda n: bytes(64), REJECTED, "failed TLS handshake", "app"),
    Shape(
        "messages with forged sources",
        _transactional,
        INCIDENTS,
        DROPPED,
        has_session=True,
        each=50,
    ),
    Shape(
        "acknowledgements wanted at third machines",
        lambda n: _transactional(n, admin=f"DIRECT=TCP:127.9.9.{1 + n % 250}\\private$\\a{n}"),
        INCIDENTS,
        DROPPED,
        has_session=True,
        each=50,
    ),
    Shape(
        "a name that is too long",
        _long_name,
        UNKNOWN_QUEUE,
        describe_class(MessageClass.NACK_BAD_DST_Q),
        has_session=True,
    ),
    Shape(
        "a sequence number of 0",
        lambda n: _transactional(n, number=0),
        ENDED,
        "bad packet",
        has_session=True,
    ),
    Shape(
        "a delivery mode that there is not",
        lambda n: _with_mode(n, 2 + n % 2),
        ENDED,
        "bad packet",
        has_session=True,
    ),
    Shape(
        "forged order acknowledgements",
        _order_ack,
        INCIDENTS,
        "order acknowledgements of unknown sequences",
        has_session=True,
        each=50,
    ),
    Shape(
        "forged final acknowledgements",
        _final_ack,
        INCIDENTS,
        "final acknowledgements of unknown messages",
        has_session=True,
        each=50,
    ),
)
"Those of one kind stay apart, so that what each brings about can be asserted."
BINARY: Final = tuple(shape for shape in SHAPES if shape.port == "binary")


class Attacker:
    """Sends things of a shape, and remembers the connections that stay."""

    def __init__(self) -> None:
        self._held: list[asyncio.StreamWriter] = []
        self._slots = asyncio.Semaphore(TOGETHER)
        self.sent = 0

    async def send(self, shape: Shape, place: tuple[str, int], numbers: Iterable[int]) -> None:
        """Send those with these numbers, several at a time."""
        numbers = list(numbers)
        parts = [numbers[at : at + shape.each] for at in range(0, len(numbers), shape.each)]
        await asyncio.gather(*(self._connect(shape, place, part) for part in parts))

    async def _connect(self, shape: Shape, place: tuple[str, int], part: list[int]) -> None:
        async with self._slots:
            with suppress(OSError, asyncio.IncompleteReadError):  # it is refused, as it should be
                reader, writer = await asyncio.open_connection(*place)
                self._held.append(writer)
                await self._speak(shape, reader, writer, part)
            self.sent += len(part)
            if len(self._held) > HELD_MAX:
                await self.release()

    async def _speak(
        self,
        shape: Shape,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        part: list[int],
    ) -> None:
        if shape.has_session:
            writer.write(establish(0) + parameters())
            await asyncio.wait_for(reader.readexactly(_ESTABLISHED), WITHIN)
        writer.write(b"".join(map(shape.data, part)))
        await asyncio.wait_for(writer.drain(), WITHIN)
        if not shape.stays:
            if shape.metric not in (ENDED, REJECTED):
                writer.write_eof()  # else the connection is ended from the other side
            await asyncio.wait_for(reader.read(), WITHIN)
            writer.close()

    async def release(self) -> None:
        """Close what stays."""
        held, self._held = self._held, []
        for writer in held:
            writer.close()
        for writer in held:
            with suppress(OSError):
                await writer.wait_closed()


async def attack(place: tuple[str, int], count: int, shapes: Iterable[Shape]) -> int:
    """Send so many to a binary port, of all shapes in turn; how many were."""
    attacker = Attacker()
    numbers: dict[Shape, list[int]] = {}
    for number, shape in enumerate(islice(cycle(shapes), count)):
        numbers.setdefault(shape, []).append(number)
    await asyncio.gather(*(attacker.send(shape, place, some) for shape, some in numbers.items()))
    await attacker.release()
    return attacker.sent


def main() -> None:
    host, port, count, *names = sys.argv[1:]
    shapes = [shape for shape in SHAPES if shape.name in names] or BINARY
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(attack((host, int(port)), int(count), shapes))
    print("done", flush=True)


if __name__ == "__main__":
    main()
