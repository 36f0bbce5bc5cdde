"""Where messages go that failed: dead-letter queues of the system, or of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import MQError
from openmsmq.packet.headers.trailer import letter_path

if TYPE_CHECKING:
    from openmsmq.engine.core import Core

# Plain numbers, since to combine flags with a number makes an object each time.
_JOURNAL: Final = Owed.JOURNAL.value
_DEAD_LETTER: Final = Owed.DEAD_LETTER.value
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_OWN_LETTERS: Final = Owed.OWN_LETTERS.value


def place_of(core: Core, packet: bytes, wanted: int, flags: int) -> ManagedQueue | None:
    """Where a message goes that failed, or that was delivered and is to be kept; None for nowhere.

    A transactional message that came from elsewhere is its sender's to keep
    ([MC-MQAC] 3.1.6.1.1). `packet` is the start of it, or all if it names a dead-letter queue.
    """
    queues = core.queues
    if wanted & _JOURNAL:
        return queues.system_journal
    if not wanted & _DEAD_LETTER:
        return None
    own = _own_letters(core, packet, flags) if flags & _OWN_LETTERS else None
    if own is not None:
        return own
    if not flags & _TRANSACTIONAL:
        return queues.dead_letter
    return queues.transactional_dead_letter if packet[16:32] == core.identity.bytes_le else None


def _own_letters(core: Core, packet: bytes, flags: int) -> ManagedQueue | None:
    """The dead-letter queue that a message names, if it still is one ([MS-MQDMPR] 3.1.1.12)."""
    try:
        transactional = bool(flags & _TRANSACTIONAL)
        return core.queues.for_letters(letter_path(packet), transactional=transactional)
    except MQError:
        return None
