"""Administration acknowledgements: what a queue manager reports of a message to its sender."""

from __future__ import annotations

from uuid import UUID

from openmsmq.names.base import FormatName
from openmsmq.names.format import PrivateName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass, PrivacyLevel

_WITHOUT_BODY = frozenset({MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE})


def build_admin_ack(
    original: PacketView,
    admin_queue: FormatName,
    message_class: MessageClass,
    *,
    source: UUID,
    message_id: int,
    sent_time: int,
) -> bytes:
    """An acknowledgement for the administration queue ([MS-MQQB] 3.1.7.15).

    It names the original by its identifier, answers come from the original's destination, and
    what failed comes back with its body, unless that was or had to be encrypted. It lives as long
    as it takes and asks for nothing itself.
    """
    is_private = original.is_encrypted or original.privacy_level != PrivacyLevel.NONE
    has_body = message_class not in _WITHOUT_BODY and not is_private
    builder = PacketBuilder(
        source,
        admin_queue,
        destination_manager=admin_queue.guid if isinstance(admin_queue, PrivateName) else NO_GUID,
        response=original.destination,
    )
    return builder.build(
        original.body if has_body else b"",
        recoverable=original.recoverable,
        message_id=message_id,
        sent_time=sent_time,
        message_class=message_class,
        correlation_id=original.identifier,
        body_type=original.body_type if has_body else 0,
    )
