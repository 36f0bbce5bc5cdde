"""Which messages of other managers a queue takes: by protection, and by its permissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.destinations import Destinations
from openmsmq.engine.arrivals.examination import (
    BAD_ENCRYPTION,
    BAD_SIGNATURE,
    PROTECTED,
    Examination,
    ExaminedGroup,
    ExaminedPacket,
)
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.arrivals.replays import Replays
from openmsmq.engine.arrivals.sender_cache import SenderPending
from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import Malformed
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, u32
from openmsmq.properties.message import MessageClass, SignatureType
from openmsmq.security.access import QueueRights
from openmsmq.security.access_check import Token, is_granted
from openmsmq.security.principals import EVERYONE_TOKEN, authenticated_token
from openmsmq.security.sid import EVERYONE, Sid

PRIVACY_NONE: Final = 0
PRIVACY_BODY: Final = 2
"Queue.PrivacyLevel: no encrypted messages, and encrypted ones only ([MS-MQDMPR] 3.1.1.2)."
_WRITE: Final = int(QueueRights.WRITE_MESSAGE)
_NOTHING: Final = Examination(b"")
"What is found out about a message without protection."


class Guard:
    """Lets messages of other managers into queues, or says why not."""

    def __init__(self, core: Core, destinations: Destinations) -> None:
        self._core = core
        self._destinations = destinations
        self._replays = Replays()
        self._plain: tuple[QueueProperties, Token, MessageClass | None] | None = None
        "What was decided last about a message without protection: for which queue, of whom."

    def examined(self, packets: list[bytes]) -> list[bytes]:
        """Packets that came, protected ones with what can be found out about them.

        This takes long, and so it is done when they come, in the turn of their session, and not in
        a commit, which all wait for. `Malformed` if one contradicts itself, `SenderPending` if it
        cannot be judged yet. A message for
        another manager is none of our business ([MS-MQQB] 3.1.5.8.3).
        """
        if not any(u32(packet, FLAGS)[0] & PROTECTED for packet in packets):
            return packets
        examiner, now = self._core.examiner, self._core.timeline.wall
        is_here = self._destinations.is_here
        return [
            examiner.examined(packet, now)
            if u32(packet, FLAGS)[0] & PROTECTED and is_here(head_of(packet))
            else packet
            for packet in packets
        ]

    def examined_group(self, group: PacketGroup) -> PacketGroup | ExaminedGroup | Sequence[bytes]:
        """The same for messages that differ in little.

        Those with a SecurityHeader all together if the same was found out about each, else one by
        one; the group itself if there is nothing to be found out.
        """
        if group.layout is None or not self._destinations.is_here(head_of(group.packets)):
            return group
        return self._core.examiner.examined_group(group.split(), self._core.timeline.wall)

    def check(
        self, origin: Origin, queue: ManagedQueue, packet: bytes, flags: int
    ) -> tuple[bytes, MessageClass | None]:
        """A message as its queue keeps it, and why the queue does not take it, if so.

        `flags` are those of the UserHeader. A signature counts once in the replay window.
        """
        if not flags & PROTECTED:
            return packet, self._plain_fault(queue.properties, origin.principal)
        finding = self._finding(origin, packet)
        fault, window = self.fault(origin, queue, finding), self._core.examiner.policy.replay_window
        if fault is None and finding.signature and window:
            now, identifier = self._core.timeline.now, PacketView(packet).identifier
            if self._replays.is_replay(finding.signature, identifier, now, window):
                fault = BAD_SIGNATURE
        return bytes(finding.packet), fault

    def fault(
        self, origin: Origin, queue: ManagedQueue, finding: Examination
    ) -> MessageClass | None:
        """Why a queue does not take messages of which this was found out; None if it does."""
        takes_unidentified = self._core.examiner.policy.takes_unidentified
        return fault_of(
            queue.properties,
            finding,
            origin.principal,
            takes_unidentified=takes_unidentified or bool(origin.transport & Owed.SRMP),
        )

    def _plain_fault(self, properties: QueueProperties, principal: Token) -> MessageClass | None:
        """The same for a message without protection, whose sender alone counts."""
        last = self._plain
        if last is None or last[0] is not properties or last[1] is not principal:
            found = fault_of(properties, _NOTHING, principal, takes_unidentified=False)
            self._plain = last = properties, principal, found
        return last[2]

    def _finding(self, origin: Origin, packet: bytes) -> Examination:
        """What is known of the protection of a message; over HTTP its transport has verified it."""
        if isinstance(packet, ExaminedPacket):
            return packet.finding
        if origin.transport & Owed.SRMP:
            security = PacketView(packet).security
            is_encrypted = security is not None and bool(security.flags & SecurityFlags.EB)
            kind = SignatureType.NONE if security is None else security.signature_type
            fault = BAD_ENCRYPTION if is_encrypted else None
            return Examination(packet, fault, SignatureType(kind), None, is_encrypted)
        try:
            return self._core.examiner.examine(packet, self._core.timeline.wall)
        except (Malformed, SenderPending):
            return Examination(packet, BAD_SIGNATURE)


def fault_of(
    properties: QueueProperties, finding: Examination, principal: Token, *, takes_unidentified: bool
) -> MessageClass | None:
    """Why a queue does not take a message ([MS-MQQB] 3.1.5.8.3); None if it does.

    Encryption comes first, then the signature, then what the queue demands ([MS-MQDMPR] 3.1.1.2),
    and access last ([MC-MQSRM] 3.1.5.1.12). `principal` is who sent it if it proves nothing;
    `takes_unidentified` says that a signature is enough for a queue that demands authentication,
    of any certificate.
    """
    if finding.fault is BAD_ENCRYPTION:
        return finding.fault
    refused = PRIVACY_NONE if finding.is_encrypted else PRIVACY_BODY
    if properties.privacy == refused:
        return BAD_ENCRYPTION
    if finding.fault is not None:
        return finding.fault
    is_proven = bool(finding.kind) and (finding.sender is not None or takes_unidentified)
    if properties.authenticate and not is_proven:
        return BAD_SIGNATURE
    token = principal if finding.sender is None else sender_token(finding.sender)
    if not is_granted(properties.permissions, token, _WRITE):
        return MessageClass.NACK_ACCESS_DENIED
    return None


def sender_token(sender: Sid) -> Token:
    """Who a proven sender is to permissions; a queue manager is everyone ([MS-MQQB] 3.1.5.8.3)."""
    return EVERYONE_TOKEN if sender == EVERYONE else authenticated_token(sender)
