"""Requests and answers of the clients of a service, in the application protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeGuard, TypeVar
from uuid import UUID

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import RUNS, SEND_RUNS, Welcome
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import EndRanges, QueuedSlice, Slices
from openmsmq.app_protocol.topology import LinkInfo, RoutedManagerInfo, SiteInfo, TopologyInfo
from openmsmq.client.limits import WAIT_MAX
from openmsmq.errors import InvalidParameter, UnsupportedOperation
from openmsmq.limits import U32_MAX, U64_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import MultipleName
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName
from openmsmq.packet.columns import JoinedPackets
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.signed import list_bytes
from openmsmq.properties.message import INFINITE
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import TokenInfo
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueEvent
from openmsmq.types.ids import MessageIds, SentId, sent_id
from openmsmq.types.lookup import ranges_of
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingAttempt, OutgoingInfo
from openmsmq.types.pack import COUNT_MIN, Packer
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage, received_alone, received_together
from openmsmq.types.settings import ConfigurationEntry, Settings
from openmsmq.types.subscriptions import SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState

Noted = TypeVar("Noted", HistoryEvent, QueueEvent, AuditEntry)
BACK_OFF: Final = (0.05, 2.0)
"Seconds until a connection is tried again, at first and at most."
STEADY: Final = 5.0
"Seconds after which a connection that is lost was a good one."
ANYWHERE: Final = DirectName.from_wire("OS:.\\private$\\x")
"The manager writes the destination, whatever it was."
PAGE: Final = 1000
"Queues that are asked for at once."
LOST: Final = "the connection was lost, and with it the transaction, which is aborted"
_ACCESS: Final = {
    Access.RECEIVE: "receive",
    Access.SEND: "send",
    Access.PEEK: "peek",
    Access.OPERATE: "operate",
}
_FRAME: Final = 64
"Bytes of a frame around its messages, and some more."
_EACH: Final = 4
"Bytes before each message."
_ID_SIZE: Final = 2
"Bytes before the id of a message."


def opening(welcome: Welcome, name: str, mode: Mode) -> dict[str, Any]:
    """The arguments of `open_queue`, without an access that an older service does not know."""
    words = [word for access, word in _ACCESS.items() if mode.access & access]
    if words == ["operate"]:
        require(welcome, "operate")
    elif "operate" in words and "operate" not in welcome.capabilities:
        words.remove("operate")
    share = "receive" if mode.share is Share.DENY_RECEIVE else "none"
    return {"name": name, "access": words, "share": share}


def opened(answer: Members, mode: Mode) -> Mode:
    """What a queue is open for, which may be less than was asked for."""
    words = answer.texts("access")
    access = Access(0)
    for kind, word in _ACCESS.items():
        access |= kind if word in words else Access(0)
    return Mode(access, mode.share)


def written(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties of a queue as arguments."""
    return {
        name: str(value) if isinstance(value, UUID) else value for name, value in properties.items()
    }


def listing(welcome: Welcome, *, everything: bool) -> dict[str, Any]:
    """The arguments of `queues`: for pages, unless the service knows none."""
    pages = {"limit": PAGE} if "pages" in welcome.capabilities else {}
    return {"everything": everything, **pages}


def require(welcome: Welcome, capability: str) -> None:
    """Refuse what an older service would not understand."""
    if capability not in welcome.capabilities:
        raise UnsupportedOperation(f"{welcome.server} does not know how to {capability}")


def wait_of(timeout: float | None) -> float | None:
    """Seconds to wait; None is for ever."""
    return None if timeout is None or timeout > WAIT_MAX else timeout


def read_payload(
    handle: int, read: Read, wait: float | None, *, transaction: int = 0, cursor: int = 0
) -> bytes:
    """The payload of a READ that waits so long."""
    seek = app.HEAD
    if read.lookup_id is not None:
        seek = app.SEEK_CODES[read.sought]
    elif read.following:
        seek = app.FOLLOWING
    return app.ReadRequest(
        handle,
        transaction,
        cursor,
        (read.lookup_id or 0) & U64_MAX,
        min(read.count, U32_MAX),
        INFINITE if wait is None else round(wait * 1000),
        app.TAKE if read.take else app.PEEK,
        seek,
    ).encode()


@lru_cache(maxsize=1024)
def signed_destination(name: str) -> FormatName:
    """The name of an open queue, as its manager writes it into messages: it is signed."""
    found = parse_name(name)
    if isinstance(found, MultipleName):
        return ANYWHERE  # the list of its queues is signed instead
    return found.to_direct() if isinstance(found, PathName) else found


@lru_cache(maxsize=1024)
def signed_list(name: str) -> bytes:
    """The list of several queues, as their manager writes it into messages; nothing for one."""
    found = parse_name(name)
    if not isinstance(found, MultipleName):
        return b""
    return list_bytes(MultiQueueFormatHeader.to(found.elements).destination)


def as_signed(messages: list[Message], *, transactional: bool) -> list[Message]:
    """Messages as they will be when they are sent: a transaction changes what is signed."""
    if not transactional:
        return messages
    return [
        replace(message, priority=0, recoverable=True) if message.signer is not None else message
        for message in messages
    ]


def packed(
    packer: Packer, queue: str, messages: list[Message], *, transactional: bool
) -> list[bytes]:
    """Messages to an open queue one by one; the manager writes what is not signed."""
    if not any([message.signer is not None for message in messages]):
        return packer.pack_many(messages, ANYWHERE, first_id=0, sent_time=0)
    return packer.pack_many(
        as_signed(messages, transactional=transactional),
        signed_destination(queue),
        first_id=0,
        sent_time=0,
        signed_list=signed_list(queue),
    )


def run_of(
    packer: Packer,
    welcome: Welcome,
    queue: str,
    messages: Sequence[Message],
    delivery: DeliveryOptions | None,
) -> bytes | None:
    """Plain messages to an open queue in one piece; None if they have to go one by one."""
    if delivery is not None or SEND_RUNS not in welcome.capabilities or len(messages) < COUNT_MIN:
        return None
    run = packer.pack_run(messages, signed_destination(queue))
    if run is None or len(run.packets) > welcome.max_frame - _FRAME:
        return None
    return run.packets


def may_go_joined(packets: Sequence[bytes], welcome: Welcome) -> TypeGuard[JoinedPackets]:
    """Whether packets lie together, and can go so."""
    return (
        isinstance(packets, JoinedPackets)
        and SEND_RUNS in welcome.capabilities
        and len(packets.joined) <= welcome.max_frame - _FRAME
    )


def id_room(delivery: DeliveryOptions) -> int:
    """Bytes that the id of a message takes, at most."""
    return _ID_SIZE + max((len(one.encode()) for one in delivery.dedup_ids), default=0)


def post(
    handle: int, transaction: int, packets: Sequence[bytes], delivery: DeliveryOptions, first: int
) -> app.Post:
    """Some of the messages that are sent together, from the one with this place on."""
    ids = delivery.dedup_ids[first : first + len(packets)]
    return app.Post(handle, transaction, delivery.at, delivery.after, tuple(packets), ids)


def sent(manager: UUID, frame: Frame) -> Sequence[SentId]:
    """The ids of messages that a SENT or POSTED is about."""
    if frame.kind is Kind.SENT:
        found = app.Sent.decode(frame.payload)
        return MessageIds(manager, found.first_id, found.count)
    posted = app.Posted.decode(frame.payload).messages
    return [sent_id(manager, one.number, duplicate=one.duplicate) for one in posted]


def send_batches(
    packets: Sequence[bytes], frame_max: int, *, together: bool, each: int = 0
) -> list[list[bytes]]:
    """Messages as they go in SEND frames, with `each` bytes more for each of them.

    `together` if they must go in one.
    """
    room = frame_max - _FRAME
    each += _EACH
    size = sum(map(len, packets)) + each * len(packets)
    if size <= room:
        return [list(packets)]
    if together:
        raise InvalidParameter(
            f"{len(packets)} messages with {size} bytes: a service takes {room} at once; send"
            " fewer, or in a transaction"
        )
    batches: list[list[bytes]] = [[]]
    left = room
    for packet in packets:
        left -= len(packet) + each
        if left < 0 and batches[-1]:
            batches.append([])
            left = room - len(packet) - each
        batches[-1].append(packet)
    return batches


def received(found: Sequence[app.QueuedMessage]) -> list[ReceivedMessage]:
    """Messages as programs see them."""
    return [
        received_alone(packet, lookup, arrived, aborts, moves, reason)
        for lookup, arrived, aborts, moves, reason, packet in found
    ]


def messages_in(frame: Frame) -> list[ReceivedMessage]:
    """The messages of a MESSAGES, DELIVERY, SLICES or DELIVERED_SLICES."""
    if frame.kind in (Kind.MESSAGES, Kind.DELIVERY):
        return received(app.Messages.decode(frame.payload).messages)
    found: list[ReceivedMessage] = []
    for part in Slices.decode(frame.payload).slices:
        found += received_together(part.data, part.bounds(), *part[:5])
    return found


def slices_in(frame: Frame) -> tuple[QueuedSlice, ...]:
    """The same as they lie together; those that come one by one are slices of one message."""
    if frame.kind == Kind.SLICES:
        return Slices.decode(frame.payload).slices
    found = app.Messages.decode(frame.payload).messages
    return tuple(QueuedSlice(*one[:5], 1, one.packet) for one in found)


def end_of(
    welcome: Welcome, handle: int, lookups: Sequence[int], *, remove: bool, transaction: int = 0
) -> tuple[Kind, bytes]:
    """What says what becomes of messages that were read: ranges, if that is shorter."""
    action = app.Action.REMOVE if remove else app.Action.RETURN
    if RUNS in welcome.capabilities and len(lookups) > 1:
        ranges = ranges_of(lookups)
        if 2 * len(ranges) <= len(lookups):
            found = EndRanges(handle, transaction, action, tuple(ranges))
            return Kind.END_RANGES, found.encode()
    return Kind.END, app.End(handle, transaction, action, tuple(lookups)).encode()


def single_slices(messages: Sequence[ReceivedMessage]) -> tuple[QueuedSlice, ...]:
    """Messages as slices of one message each."""
    return tuple(
        QueuedSlice(
            message.lookup_id,
            int(message.arrived_time.timestamp()),
            message.abort_count,
            message.move_count,
            message.message_class,
            1,
            message.stored,
        )
        for message in messages
    )


def queue_info(item: Members) -> QueueInfo:
    """What is known of a queue."""
    known: dict[str, Any] = {
        name: item.values.get(name, None if field.default is MISSING else field.default)
        for name, field in QueueInfo.__dataclass_fields__.items()
    }
    return QueueInfo(**known | {"id": UUID(item.text("id")), "type": UUID(item.text("type"))})


def outgoing_info(item: Members) -> OutgoingInfo:
    """What is known of an outgoing queue."""
    known = {name: item.values.get(name) for name in OutgoingInfo.__dataclass_fields__}
    attempts = tuple(
        OutgoingAttempt(
            one.integer("time", maximum=U64_MAX), one.text("status"), one.text("address")
        )
        for one in item.objects("attempts")
    )
    return OutgoingInfo(**{**known, "attempts": attempts})  # type: ignore[arg-type]


def peer_info(item: Members) -> PeerInfo:
    """What is known of another queue manager."""
    return PeerInfo(
        id=UUID(item.text("id")),
        names=item.texts("names"),
        address=item.text("address"),
        port=item.integer("port"),
        pinned=item.flag("pinned"),
        relay=item.flag("relay"),
        sessions=item.texts("sessions"),
        claimed_from=item.texts("claimed_from"),
        missing=item.integer("missing", maximum=U64_MAX),
    )


def multicast_info(item: Members) -> MulticastInfo:
    """A session of a group."""
    return MulticastInfo(
        direction=item.text("direction"),
        group=item.text("group"),
        source=item.text("source"),
        session=item.text("session"),
        state=item.text("state"),
        packets=item.integer("packets", maximum=U64_MAX),
        repairs=item.integer("repairs", maximum=U64_MAX),
        requests=item.integer("requests", maximum=U64_MAX),
        lost=item.integer("lost", maximum=U64_MAX),
    )


def subscription_info(item: Members) -> SubscriptionInfo:
    """What is known of a subscription."""
    fields = SubscriptionInfo.__dataclass_fields__
    known = {name: value for name, value in item.values.items() if name in fields}
    return SubscriptionInfo(**{"oldest": None, **known})  # type: ignore[arg-type]


def unit_state(word: str) -> UnitState:
    """Where a unit stands; one that this version does not understand is left alone."""
    return UnitState(word) if word in set(UnitState) else UnitState.ACTIVE


def unit_info(item: Members) -> UnitInfo:
    """What is known of a unit."""
    return UnitInfo(
        item.text("name"),
        item.text("state"),
        item.integer("age"),
        item.texts("waiting"),
    )


def noted(kind: type[Noted], item: Members) -> Noted:
    """Something that was written down: an event of a message or a queue, or an audit entry."""
    time = datetime.fromisoformat(item.text("time"))
    known = {name: item.values.get(name) for name in kind.__dataclass_fields__}
    return kind(**{**known, "time": time})  # type: ignore[arg-type]


def settings(item: Members) -> Settings:
    """What is set, as far as this version knows it."""
    values = item.values
    known = {name: values[name] for name in Settings.__dataclass_fields__ if name in values}
    return Settings(**known)  # type: ignore[arg-type]


def topology_info(item: Members) -> TopologyInfo:
    """The sites, links and managers of a topology."""

    def guids(of: Members, name: str) -> tuple[UUID, ...]:
        return tuple(map(UUID, of.texts(name)))

    return TopologyInfo(
        item.text("source"),
        item.text("directory"),
        item.flag("direct"),
        item.flag("bridge"),
        tuple(
            SiteInfo(UUID(one.text("id")), one.text("name"), one.flag("foreign"))
            for one in item.objects("sites")
        ),
        tuple(
            LinkInfo(
                UUID(one.text("site1")),
                UUID(one.text("site2")),
                one.integer("cost"),
                guids(one, "gates"),
            )
            for one in item.objects("links")
        ),
        tuple(
            RoutedManagerInfo(
                UUID(one.text("id")),
                one.text("name"),
                guids(one, "sites"),
                one.flag("router"),
                one.flag("foreign"),
                one.text("address"),
                guids(one, "out_servers"),
                guids(one, "in_servers"),
            )
            for one in item.objects("managers")
        ),
        item.texts("findings"),
    )


def token_info(item: Members) -> TokenInfo:
    """What is known of a token."""
    times = {
        name: item.integer(name, maximum=U64_MAX) if item.has(name) else None
        for name in ("expires", "used")
    }
    return TokenInfo(
        id=item.text("id"),
        role=item.text("role"),
        queues=item.texts("queues"),
        label=item.text("label"),
        created=item.integer("created", maximum=U64_MAX),
        **times,
    )


def configuration_entry(item: Members) -> ConfigurationEntry:
    """What is known of an option of a service."""
    return ConfigurationEntry(
        place=item.text("place"),
        running=item.text("running"),
        file=item.text("file"),
        is_default=item.flag("is_default"),
        needs_restart=item.flag("needs_restart"),
        reloads=item.flag("reloads"),
        help=item.text("help"),
    )
