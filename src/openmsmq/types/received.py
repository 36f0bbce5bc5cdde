"""ReceivedMessage: what a receive or a peek returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from functools import lru_cache
from itertools import repeat
from struct import error as StructError
from typing import NoReturn, TypeAlias
from uuid import UUID

from openmsmq.errors import IllegalFormatName, IllegalQueuePathName, Malformed
from openmsmq.names.base import FormatName
from openmsmq.names.path import parse_path_name
from openmsmq.packet.headers.properties import NO_CORRELATION
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.trailer import split_stored
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.origin import origin_of
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, properties_offset
from openmsmq.properties.message import INFINITE, Acknowledge, PrivacyLevel, SenderIdType
from openmsmq.security.sid import Sid
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.message import FIELDS, Message

Facts: TypeAlias = tuple[int, float, int, int, int]
"""What a queue knows: what the lookup identifier has more than the arrival, the time of arrival,
the numbers of aborts and moves, and why it is a dead letter."""


class ReceivedMessage(Message):
    """A message taken or seen in a queue: its packet, and what only the queue knows about it.

    Nothing is decoded before it is asked for ([MS-MQDMPR] 3.1.7.1.31). It can be sent again like
    any message; `to_message` gives one to change first.
    """

    __slots__ = ("_facts", "_lookup", "_view")
    _view: PacketView
    _lookup: int
    _facts: Facts

    def __init__(
        self,
        packet: bytes,
        *,
        lookup_id: int = 0,
        arrival: int = 0,
        arrived: float = 0,
        abort_count: int = 0,
        move_count: int = 0,
        message_class: int = 0,
    ) -> None:
        """`packet` is a UserMessage that was checked; `arrived` counts seconds since 1970 UTC.

        `message_class` is why it became a dead letter.
        """
        _set_view(self, PacketView(packet))
        _set_lookup(self, lookup_id)
        facts = lookup_id - arrival, arrived, abort_count, move_count, message_class
        _set_facts(self, facts)

    @property
    def packet(self) -> bytes:
        """The whole message as it travels."""
        return split_stored(self._view.data)[0]

    @property
    def stored(self) -> bytes:
        """The same with what its manager keeps behind it ([MS-MQRR] 2.2.5)."""
        return self._view.data

    def to_message(self) -> Message:
        """The same to send, for `dataclasses.replace`."""
        return Message(**{name: getattr(self, name) for name in FIELDS})

    # What the sender set: see Message.

    @property
    def body(self) -> bytes:
        """The body as it was sent; `text` and `json()` decode it."""
        return self._view.body

    @property
    def body_type(self) -> int:
        """What the body is, a VT_* code: 0 nothing special, 31 (VT_LPWSTR) text."""
        return self._view.body_type

    @property
    def label(self) -> str:
        """The label that its sender gave it."""
        return self._view.label

    @property
    def priority(self) -> int:
        """0 to 7; 7 is read first."""
        return self._view.priority

    @property
    def recoverable(self) -> bool:
        """Whether it is kept on disk wherever it waits."""
        return self._view.recoverable

    @property
    def journal(self) -> bool:
        """Whether a copy stays in its sender's journal."""
        return self._view.journal

    @property
    def dead_letter(self) -> bool:
        """Whether it goes to its sender's dead-letter queue if it fails."""
        return self._view.dead_letter

    @property
    def dead_letter_queue(self) -> FormatName | None:
        """The dead-letter queue that its sender chose instead of the usual one."""
        path = self._view.dead_letter_path
        return _own_queue(path) if path else None

    @property
    def acknowledge(self) -> Acknowledge:
        """What is reported to `admin_queue`."""
        return Acknowledge(self._view.acknowledge)

    @property
    def admin_queue(self) -> FormatName | None:
        """The queue that gets the acknowledgements."""
        view = self._view
        return _named(view, "admin_queue") if view.flags & UserFlags.AQ else None

    @property
    def response_queue(self) -> FormatName | None:
        """The queue that an answer goes to."""
        view = self._view
        return _named(view, "response_queue") if view.flags & UserFlags.RQ else None

    @property
    def correlation_id(self) -> bytes:
        """20 bytes of the application's own; empty for none."""
        correlation_id = self._view.correlation_id
        return b"" if correlation_id == NO_CORRELATION else correlation_id

    @property
    def app_specific(self) -> int:
        """A number of the application's own."""
        return self._view.app_specific

    @property
    def extension(self) -> bytes:
        """More data beside the body, where NServiceBus and Rebus put their headers."""
        return self._view.extension

    @property
    def time_to_be_received(self) -> int | None:
        """Seconds from sending until it must have been received; None is for ever."""
        seconds = self._view.time_to_be_received
        return None if seconds == INFINITE else seconds

    @property
    def time_to_reach_queue(self) -> int | None:
        """Seconds from sending until it must have arrived; None is for ever."""
        seconds = self._view.time_to_reach_queue
        return None if seconds == INFINITE else seconds

    @property
    def trace(self) -> bool:
        """Whether its way is reported to its sender's report queue."""
        return self._view.trace

    @property
    def encrypt(self) -> bool:
        """Its sender wanted its body encrypted on the way; so is it if it is sent again."""
        return self._view.privacy_level != PrivacyLevel.NONE

    @property
    def signer(self) -> None:
        """None: a message that is sent again is signed anew, or not; see `signature_type`."""
        return None

    # What only the queue knows.

    @property
    def lookup_id(self) -> int:
        """Its place in the queue, by which it can be found again."""
        return self._lookup

    @property
    def arrival(self) -> int:
        """Counts up with every message that becomes visible in the queue."""
        return self._lookup - self._facts[0]

    @property
    def arrived_time(self) -> datetime:
        """When it arrived in the queue."""
        return datetime.fromtimestamp(self._facts[1], UTC)

    @property
    def abort_count(self) -> int:
        """How often a transaction that had received it was aborted."""
        return self._facts[2]

    @property
    def move_count(self) -> int:
        """How often it was moved between subqueues."""
        return self._facts[3]

    # What its packet says of its way.

    @property
    def id(self) -> str:
        r"""`guid\number`, unique for the queue manager that sent it."""
        return self.id_text(self._view.identifier)

    @staticmethod
    def id_text(identifier: bytes) -> str:
        r"""An identifier of 20 bytes as `guid\number`."""
        number = int.from_bytes(identifier[16:], "little")
        return f"{_guid_text(identifier[:16])}\\{number}"

    @property
    def identifier(self) -> bytes:
        """The id as 20 bytes, to be the `correlation_id` of an answer."""
        return self._view.identifier

    @property
    def message_class(self) -> int:
        """0 for a message of an application; else what it reports, see `MessageClass`.

        For a dead letter it is the reason.
        """
        return self._facts[4] or self._view.message_class

    @property
    def sent_time(self) -> datetime:
        """When it was sent, by the sender's clock."""
        return datetime.fromtimestamp(self._view.sent_time, UTC)

    @property
    def destination_queue(self) -> FormatName | None:
        """The queue it was sent to; None if what stands there is no name."""
        return _named(self._view, "destination")

    @property
    def source_manager(self) -> UUID:
        """The queue manager that sent it."""
        return self._view.source_queue_manager

    @property
    def source_address(self) -> str:
        """The IP address that it came from, as its manager saw it; empty if that is not known.

        It is kept for messages from other computers that were sent to a direct name.
        """
        found = origin_of(self._view.data)
        if found is None:
            return ""
        address, scope = found
        return f"{address}%{scope}" if scope else str(address)

    @property
    def sender_id(self) -> str | None:
        """Who sent it, as a security identifier `S-1-...`; what the sender says, unless signed."""
        security = self._view.security
        if security is None or security.flags & SecurityFlags.ST != SenderIdType.SID:
            return None
        try:
            return str(Sid.decode(security.security_id))
        except Malformed:
            return None

    @property
    def signature_type(self) -> int:
        """The kind of signature that was verified when it arrived, a `SignatureType`; else 0.

        It says that the owner of `sender_certificate` signed the message, and grants nothing.
        """
        security = self._view.security
        return 0 if security is None else security.signature_type

    @property
    def sender_certificate(self) -> bytes:
        """The certificate of who signed it, in DER; what the sender says, unless verified."""
        security = self._view.security
        return b"" if security is None else security.sender_cert

    @property
    def transactional(self) -> bool:
        """It was sent in a transaction."""
        return self._view.transactional

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReceivedMessage):
            return NotImplemented
        return (
            self._lookup == other._lookup
            and self._facts == other._facts
            and self._view.data == other._view.data
        )

    def __hash__(self) -> int:
        return hash((self._lookup, self._facts, self._view.data))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (self._view.data, self._lookup, self.arrival, *self._facts[1:])

    def _shown(self) -> Iterator[str]:
        yield f"id={self.id!r}"
        yield f"lookup_id={self.lookup_id}"
        yield from super()._shown()


_facts, _view = vars(ReceivedMessage)["_facts"], vars(ReceivedMessage)["_view"]
_lookup = vars(ReceivedMessage)["_lookup"]
_get_view, _set_view = _view.__get__, _view.__set__
_get_facts, _set_facts = _facts.__get__, _facts.__set__
_get_lookup, _set_lookup = _lookup.__get__, _lookup.__set__
_new_view: Callable[[type[PacketView]], PacketView] = object.__new__
_set_class = vars(object)["__class__"].__set__


class _Together:
    """Packets of messages that came together, and what the queue knows of all of them."""

    __slots__ = ("_bounds", "_first", "_front", "_packets", "_properties", "facts")

    def __init__(self, packets: bytes, bounds: Sequence[int], first: int, facts: Facts) -> None:
        self._packets = packets
        self._bounds = bounds
        "Where each packet begins, and where the last ends."
        self._first = first
        "The lookup identifier of the first message."
        packet = packets[bounds[0] : bounds[1]]
        try:
            self._properties = properties_offset(packet)
        except (StructError, IndexError):  # it is no message, which shows when it is read
            self._properties = 0
        self._front = packet[FLAGS : self._properties]
        "What stands before the properties of the first: where others have it, theirs begin there."
        self.facts = facts

    def cut_out(self, message: ReceivedMessage) -> PacketView:
        """The packet of a message, which has it alone from now on."""
        place, bounds = _get_lookup(message) - self._first, self._bounds
        packet = self._packets[bounds[place] : bounds[place + 1]]
        view = _new_view(PacketView)  # quicker than the constructor
        view.data = packet
        view._properties = self._properties if packet.startswith(self._front, FLAGS) else 0
        _set_facts(message, self.facts)
        _set_view(message, view)
        _set_class(message, ReceivedMessage)
        return view


class _Unread(ReceivedMessage):
    """A message that came with others, until it is asked for more than its place in the queue.

    Where others have their view it has what came together. Its packet is cut out when it is asked
    for. From then on it is like any other message, without those that came with it. Threads may ask
    at once, each to the same end.
    """

    __slots__ = ()

    @property
    def _view(self) -> PacketView:  # type: ignore[override] # it has a slot of that name, too
        found: PacketView | _Together = _get_view(self)
        return found.cut_out(self) if isinstance(found, _Together) else found

    @property
    def _facts(self) -> Facts:  # type: ignore[override] # as above
        found: PacketView | _Together = _get_view(self)
        return found.facts if isinstance(found, _Together) else _get_facts(self)

    @property
    def body(self) -> bytes:
        """The body as it was sent, by the shortest way: mostly it is what is asked for first."""
        found: PacketView | _Together = _get_view(self)
        return (found.cut_out(self) if isinstance(found, _Together) else found).body


_Unread.__name__ = _Unread.__qualname__ = ReceivedMessage.__name__


def received_alone(
    packet: bytes, lookup: int, arrived: int, aborts: int, moves: int, reason: int
) -> ReceivedMessage:
    """A message, and what the queue knows of it: quicker than the constructor."""
    message = object.__new__(ReceivedMessage)
    _set_view(message, PacketView(packet))
    _set_lookup(message, lookup)
    _set_facts(message, (lookup & ~ARRIVAL_MASK, arrived, aborts, moves, reason))
    return message


def received_together(
    packets: bytes,
    bounds: Sequence[int],
    lookup: int,
    arrived: int,
    aborts: int,
    moves: int,
    reason: int,
) -> list[ReceivedMessage]:
    """Messages with consecutive lookup identifiers, of which the queue knows the same.

    `bounds` says where each packet begins, and where the last ends. They are cut out when they are
    asked for: here, that would take a third of the time of a receive.
    """
    count = len(bounds) - 1
    facts = lookup & ~ARRIVAL_MASK, arrived, aborts, moves, reason
    found: list[ReceivedMessage] = list(map(object.__new__, repeat(_Unread, count)))
    deque(map(_set_lookup, found, range(lookup, lookup + count)), maxlen=0)
    deque(map(_set_view, found, repeat(_Together(packets, bounds, lookup, facts))), maxlen=0)
    return found


def _remade(
    packet: bytes,
    lookup_id: int,
    arrival: int,
    arrived: float,
    abort_count: int,
    move_count: int,
    message_class: int,
) -> ReceivedMessage:
    """A message as `copy` and `pickle` make it again."""
    return ReceivedMessage(
        packet,
        lookup_id=lookup_id,
        arrival=arrival,
        arrived=arrived,
        abort_count=abort_count,
        move_count=move_count,
        message_class=message_class,
    )


@lru_cache(maxsize=1024)
def _own_queue(path: str) -> FormatName | None:
    """The dead-letter queue with this path; None if what stands there is no name."""
    try:
        return parse_path_name(path).to_direct()
    except IllegalQueuePathName:
        return None


def _named(view: PacketView, field: str) -> FormatName | None:
    """The name in `field`; None for what a peer wrote that is no name, so that nothing fails."""
    try:
        name: FormatName | None = getattr(view, field)
    except IllegalFormatName:
        return None
    return name


@lru_cache(maxsize=1024)
def _guid_text(raw: bytes) -> str:
    """A GUID as text; few queue managers send many messages."""
    return str(UUID(bytes_le=raw))
