"""Sessions and recordings as a service describes them."""

from __future__ import annotations

from openmsmq.app_protocol.members import Members
from openmsmq.limits import U64_MAX
from openmsmq.types.peers import (
    DependentInfo,
    DependentQueueInfo,
    RecordingFile,
    RecordingInfo,
    SessionDetails,
    SessionInfo,
    SessionPacket,
)


def session_info(item: Members) -> SessionInfo:
    """What is known of a session."""
    return SessionInfo(
        id=item.text("id"),
        kind=item.text("kind"),
        peer=item.text("peer"),
        name=item.text("name"),
        who=item.text("who"),
        incoming=item.flag("incoming"),
        is_open=item.flag("is_open"),
        age=item.integer("age", maximum=U64_MAX),
        received=item.integer("received", maximum=U64_MAX),
        sent=item.integer("sent", maximum=U64_MAX),
    )


def dependent_info(item: Members) -> DependentInfo:
    """What is known of a dependent client."""
    numbers = ("age", "connections", "received", "sent", "transactions", "waiting", "open_queues")
    return DependentInfo(
        id=item.text("id"),
        peer=item.text("peer"),
        who=item.text("who"),
        **{name: item.integer(name, maximum=U64_MAX) for name in numbers},
        queues=tuple(map(_dependent_queue, item.objects("queues"))),
    )


def _dependent_queue(item: Members) -> DependentQueueInfo:
    longest = item.integer("longest", maximum=U64_MAX) if item.has("longest") else None
    waiting = item.integer("waiting", maximum=U64_MAX)
    return DependentQueueInfo(item.text("name"), item.text("access"), waiting, longest)


def recording_info(item: Members) -> RecordingInfo:
    """What is known of a recording."""
    files = tuple(
        RecordingFile(one.text("name"), one.integer("size", maximum=U64_MAX))
        for one in item.objects("files")
    )
    return RecordingInfo(
        id=item.text("id"),
        state=item.text("state"),
        peer=item.text("peer"),
        began=item.integer("began", maximum=U64_MAX),
        until=item.integer("until", maximum=U64_MAX),
        by=item.text("by"),
        files=files,
    )


def session_details(item: Members) -> SessionDetails:
    """All that is known of a session."""
    numbers = ("window", "own_window", "room", "unacknowledged", "to_acknowledge", "ack_wait")
    known = {name: item.integer(name, maximum=U64_MAX) for name in numbers if item.has(name)}
    return SessionDetails(
        session=session_info(item.object("session")),
        state=item.text("state"),
        **known,
        packets=tuple(map(_packet, item.objects("packets"))),
        queues=item.texts("queues"),
    )


def _packet(item: Members) -> SessionPacket:
    millis, size = (item.integer(name, maximum=U64_MAX) for name in ("millis", "size"))
    return SessionPacket(millis, item.flag("is_sent"), item.text("kind"), size)
