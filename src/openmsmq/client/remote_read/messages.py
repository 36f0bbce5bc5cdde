"""Calls of a remote reader: what they ask for, and what their answers mean ([MS-MQRR] 3.2.4)."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from openmsmq.errors import (
    AccessDenied,
    ConnectionLost,
    InvalidHandle,
    InvalidParameter,
    Malformed,
    MQError,
    ServiceNotAvailable,
    UnsupportedOperation,
)
from openmsmq.interfaces.endpoint_mapper.stubs import MapArguments, MapResults
from openmsmq.interfaces.endpoint_mapper.tower import Tower, query
from openmsmq.interfaces.limits import TOWERS_MAX
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.sections import whole_packet
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.trailer import (
    ExtendedAddressHeader,
    SubqueueHeader,
    Trailer,
    split_stored,
)
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.origin import UNKNOWN, is_direct, packed_address, with_origin
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.rpc.client import Disconnected
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.soap.compound import plain_message
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage
from openmsmq.wire.reader import decode_whole

USUAL_SIZE: Final = 512
"Bytes of the headers behind a message up to which they are remembered: most have the same ones."
_TIME: Final = BaseHeader.offset_of("TimeToReachQueue")
_PEEKS: Final = {
    Seek.CURRENT: ReadAction.LOOKUP_PEEK_CURRENT,
    Seek.NEXT: ReadAction.LOOKUP_PEEK_NEXT,
    Seek.BEHIND: ReadAction.LOOKUP_PEEK_NEXT,
    Seek.PREVIOUS: ReadAction.LOOKUP_PEEK_PREV,
    Seek.AHEAD: ReadAction.LOOKUP_PEEK_PREV,
}
_RECEIVES: Final = {
    Seek.CURRENT: ReadAction.LOOKUP_RECEIVE_CURRENT,
    Seek.NEXT: ReadAction.LOOKUP_RECEIVE_NEXT,
    Seek.BEHIND: ReadAction.LOOKUP_RECEIVE_NEXT,
    Seek.PREVIOUS: ReadAction.LOOKUP_RECEIVE_PREV,
    Seek.AHEAD: ReadAction.LOOKUP_RECEIVE_PREV,
}


class WireBuffer:
    """Bytes that a machine wants to send, for a socket that is written to between its calls."""

    write_buffer_full = False

    def __init__(self, address: str) -> None:
        self.address = address
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._parts.append(data)

    def take(self) -> bytes:
        """What is to be sent now."""
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def close(self) -> None:
        """The machine is done; the one who has the socket closes it."""

    def update(self) -> None:
        """Nothing waits for the deadline: the one who waits for bytes knows it."""


def action_of(read: Read, *, with_cursor: bool) -> ReadAction:
    """ulAction of a read ([MS-MQRR] 3.1.4.7)."""
    if read.lookup_id is not None:
        actions = _RECEIVES if read.take else _PEEKS
        found = actions.get(read.sought)
        if found is None:
            raise UnsupportedOperation(f"seek {read.sought}: remote read has no such operation")
        return found
    if read.take:
        return ReadAction.RECEIVE
    return ReadAction.PEEK_NEXT if with_cursor and read.following else ReadAction.PEEK_CURRENT


def timeout_ms(timeout: float | None) -> int:
    """ulTimeout ([MS-MQRR] 3.1.4.7)."""
    if timeout is None:
        return stubs.INFINITE_MS
    return min(int(timeout * 1000 + 0.999), stubs.INFINITE_MS - 1)


def received_message(results: stubs.ReceiveResults) -> ReceivedMessage:
    """The message of a read; `Malformed` ([MS-MQRR] 3.1.4.7, 3.2.4.3).

    One that came over HTTP is as its manager keeps it. The lookup identifier is made of the
    sequence number and the priority, and TimeToReachQueue is again what the sender said ([MS-MQRR]
    2.2.5.1, 2.2.5.3).
    """
    packet, behind = split_stored(whole_packet(results.sections or ()))
    view = PacketView.parse(packet)
    if view.flags & UserFlags.AH:
        packet = plain_message(view.message()).encode()
        view = PacketView(packet)
    until = view.time_to_reach_queue
    lasts = until if until == U32_MAX else max(0, until - view.sent_time)
    relative = packet[:_TIME] + lasts.to_bytes(4, "little") + packet[_TIME + 4 :]
    subqueue, address = (_usual_headers if len(behind) <= USUAL_SIZE else _headers)(behind)
    if is_direct(packet):
        relative = with_origin(relative, address)
    return ReceivedMessage(
        relative + behind,
        lookup_id=PRIORITY_MAX - view.priority << ARRIVAL_BITS | results.sequence_id,
        arrival=results.sequence_id,
        arrived=results.arrive_time,
        abort_count=subqueue.abort_counter,
        move_count=subqueue.move_counter,
        message_class=subqueue.acknowledgement_class,
    )


def _headers(behind: bytes) -> tuple[SubqueueHeader, bytes]:
    """What the manager says of a message behind it, and the address it came from; `Malformed`.

    Old managers say nothing ([MS-MQRR] 2.2.5.5, notes 5 to 8).
    """
    if not behind:
        return SubqueueHeader(), UNKNOWN
    found = decode_whole(behind, Trailer.read)
    header = found.extended_address or ExtendedAddressHeader()
    size = _ADDRESS_SIZES.get(header.address_type, 0)
    if not size:
        return found.subqueue or SubqueueHeader(), UNKNOWN
    scope = f"%{header.address_scope}" if header.address_scope else ""
    address = packed_address(f"{ip_address(header.address[:size])}{scope}")
    return found.subqueue or SubqueueHeader(), address


_usual_headers: Final = lru_cache(maxsize=256)(_headers)
_ADDRESS_SIZES: Final = {1: 4, 6: 16}
"By AddressType."


def map_arguments(interface: SyntaxId) -> MapArguments:
    """ept_map: where an interface is ([MS-RPCE] 2.2.1.2.5)."""
    return MapArguments(None, query(interface).encode(), NULL_HANDLE, TOWERS_MAX)


class NoSuchInterface(ServiceNotAvailable):
    """A manager that answers, but not to this kind of call."""


def mapped_port(results: MapResults, host: str) -> int:
    """The port of an interface, by the endpoint mapper of its computer ([MS-RPCE] 3.1.3.5.3)."""
    for data in results.towers.items:
        with suppress(Malformed):
            if port := Tower.decode(data or b"").port:
                return port
    raise NoSuchInterface(f"{host}: its endpoint mapper does not know the interface over TCP")


def check_result(result: int, words: str = "") -> None:
    """Raise what an HRESULT stands for, unless it is success."""
    if result:
        raise MQError.from_hresult(result, words)


def error_of(failure: Exception) -> MQError:
    """The error for a call that has no results: an HRESULT that was thrown counts as returned.

    ([MS-MQMP] 3.1.4.2, 3.1.4.17)
    """
    if isinstance(failure, RpcFault):
        if failure.status == RpcStatus.ACCESS_DENIED:
            return AccessDenied("the user, the password or the authentication level was refused")
        if failure.status == RpcStatus.CONTEXT_MISMATCH:
            return InvalidHandle("the manager does not know the queue handle any more")
        if failure.status == RpcStatus.BAD_STUB_DATA:
            return InvalidParameter("the manager refused the arguments of a call")
        if failure.status & 0xFFFF0000 == 0xC00E0000:
            return MQError.from_hresult(failure.status)
        return ServiceNotAvailable(f"the remote call failed: {failure}")
    if isinstance(failure, Disconnected):
        return ConnectionLost(str(failure))
    return ServiceNotAvailable(f"no answer in time: {failure}")
