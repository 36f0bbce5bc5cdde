"""Change notifications: the text that says which object of a directory has changed ([MS-MQCN]).

It is read with a fixed pattern, not as XML: there is nothing to resolve in it (DS-27, DS-33).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final
from uuid import UUID

from openmsmq.directory.limits import NOTIFICATION_SIZE_MAX
from openmsmq.names.format import PrivateName
from openmsmq.packet.signer import MessageSigner
from openmsmq.types.message import Message

VERSION: Final = 2
OLD_VERSION: Final = 1
QUEUE_NUMBER: Final = 3
"PrivateQueueIdentifier of the queue that notifications go to ([MS-MQCN] 1.9)."
TIME_TO_REACH_QUEUE: Final = 300
"Seconds ([MS-MQCN] 3.3.5.3)."
_COUNT: Final = 1
_UNUSED: Final = b"\0"
_TEXT: Final = re.compile(
    r"<Notification><Event>([1-4])</Event><ObjectGuid>"
    r"([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})</ObjectGuid ?>"
    r"<DomainController>([^<>&\s\0]{0,256})</DomainController></Notification>\0?"
)


class ChangeEvent(IntEnum):
    """What has happened ([MS-MQCN] 2.2.5)."""

    QUEUE_CREATED = 1
    QUEUE_CHANGED = 2
    QUEUE_DELETED = 3
    MACHINE_CHANGED = 4


@dataclass(frozen=True, slots=True)
class Notification:
    """DirectoryChangeNotification ([MS-MQCN] 2.2.5)."""

    event: ChangeEvent
    object: UUID
    controller: str = ""
    "The domain controller that took the change."

    def encode(self) -> bytes:
        """The body of the message: version 2, one notification, its text ([MS-MQCN] 2.2.4).

        One unused byte follows ([MS-MQCN] 3.3.5.3).
        """
        text = (
            f"<Notification><Event>{int(self.event)}</Event>"
            f"<ObjectGuid>{str(self.object).upper()}</ObjectGuid>"
            f"<DomainController>{self.controller}</DomainController></Notification>"
        )
        return bytes((VERSION, _COUNT)) + text.encode("utf-16-le") + _UNUSED

    def message(self, signer: MessageSigner | None = None) -> Message:
        """The message that carries it ([MS-MQCN] 3.3.5.3): express, and soon too late."""
        reach = TIME_TO_REACH_QUEUE
        return Message(self.encode(), recoverable=False, time_to_reach_queue=reach, signer=signer)


def notification_queue(manager: UUID) -> PrivateName:
    """NOTIFY_QUEUE_PRIVATE of a manager ([MS-MQCN] 1.9)."""
    return PrivateName(manager, QUEUE_NUMBER)


def read_notification(body: bytes) -> Notification | None:
    """What a body says; None if it is to be ignored ([MS-MQCN] 2.2.4, 2.2.5).

    Other versions and events are, and whatever is no such text. Version 1 has values in it, and
    nothing that proves them (DS-28).
    """
    if len(body) > NOTIFICATION_SIZE_MAX or body[:2] != bytes((VERSION, _COUNT)):
        return None
    raw = body[2:]
    for data in (raw, raw[:-1]):  # without and with the unused byte
        if len(data) % 2:
            continue
        try:
            found = _TEXT.fullmatch(data.decode("utf-16-le"))
        except UnicodeDecodeError:
            continue
        if found is not None:
            return Notification(ChangeEvent(int(found[1])), UUID(found[2]), found[3])
    return None
