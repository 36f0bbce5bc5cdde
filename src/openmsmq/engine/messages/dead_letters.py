"""Where messages go that failed: dead-letter queues of the system, or of their own."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import MQError
from openmsmq.packet.headers.trailer import letter_path

# Plain numbers, since to combine flags with a number makes an object each time.
_JOURNAL: Final = Owed.JOURNAL.value
_DEAD_LETTER: Final = Owed.DEAD_LETTER.value
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_OWN_LETTERS: Final = Owed.OWN_LETTERS.value


def place_of(
    queues: Queues, own: UUID, packet: bytes, wanted: int, flags: int
) -> ManagedQueue | None:
    """Where a message goes that failed, or that was delivered and is to be kept; None for nowhere.

    A transactional message that came from elsewhere is its sender's to keep
    ([MC-MQAC] 3.1.6.1.1). `own` is the identity of this manager; `packet` is the start of the
    message, or all of it if it names a dead-letter queue.
    """
    if wanted & _JOURNAL:
        return queues.system_journal
    if not wanted & _DEAD_LETTER:
        return None
    named = _own_letters(queues, packet, flags) if flags & _OWN_LETTERS else None
    if named is not None:
        return named
    if not flags & _TRANSACTIONAL:
        return queues.dead_letter
    return queues.transactional_dead_letter if packet[16:32] == own.bytes_le else None


def _own_letters(queues: Queues, packet: bytes, flags: int) -> ManagedQueue | None:
    """The dead-letter queue that a message names, if it still is one ([MS-MQDMPR] 3.1.1.12)."""
    try:
        transactional = bool(flags & _TRANSACTIONAL)
        return queues.for_letters(letter_path(packet), transactional=transactional)
    except MQError:
        return None
