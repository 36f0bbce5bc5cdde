"""Kinds of queues: those that messages end in which something went wrong with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from openmsmq.types.queues import POISON_SUBQUEUE, REFUSED_QUEUE, VISIBLE, QueueInfo, QueueKind

REFUSED: Final = f".\\{REFUSED_QUEUE}"
LETTER_QUEUES: Final = (r".\DeadLetter$", r".\XactDeadLetter$", REFUSED)
_ERROR_QUEUE: Final = re.compile(r"(?:.*[._-])?errors?", re.IGNORECASE)


def is_letter_queue(info: QueueInfo) -> bool:
    """Whether messages end in a queue that something went wrong with."""
    is_poison = info.kind == QueueKind.SUBQUEUE and info.name.endswith(f";{POISON_SUBQUEUE}")
    return info.name in LETTER_QUEUES or is_poison or is_error_queue(info)


def is_error_queue(info: QueueInfo) -> bool:
    """Whether a queue has the name of an error queue of NServiceBus or Rebus."""
    name = info.name.rpartition("\\")[2]
    return info.kind in VISIBLE and _ERROR_QUEUE.fullmatch(name) is not None


def waiting_in(infos: Iterable[QueueInfo]) -> int:
    """Messages that wait for programs: those of queues that people made."""
    return sum(one.messages for one in infos if one.kind in VISIBLE)


def letters_in(infos: Iterable[QueueInfo]) -> int:
    """Dead letters, poison messages, and what failed otherwise."""
    return sum(one.messages for one in infos if is_letter_queue(one))
