"""What becomes of messages that are posted, here and at the other end; what metrics call it."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

UNKNOWN_STREAM: Final = "stream receipts of unknown streams"
"What the statistics call those that are ignored."


class Verdict(Enum):
    """What the answer to a request means for the message that it carried."""

    TAKEN = auto()
    "The receiver is responsible for it now."
    REFUSED = auto()
    "It will never be taken."
    RETRY = auto()
    "Nothing is known, or it may be taken later."


class SrmpOutcome(Enum):
    """What became of a message that was posted."""

    STORED = auto()
    IGNORED = auto()
    DUPLICATE = auto()
    OUT_OF_ORDER = auto()
    EXPIRED = auto()
    QUEUE_FULL = auto()
    ACCESS_DENIED = auto()
    BAD_SIGNATURE = auto()
    MALFORMED = auto()
    NOT_LOCAL = auto()
    UNKNOWN_QUEUE = auto()
    WRONG_KIND = auto()
    "A stream message for a queue that is not transactional, or another for one that is."
    MACHINE_FULL = auto()
    FAILED = auto()
    BUSY = auto()


def outcome_word(outcome: SrmpOutcome) -> str:
    """What metrics call an outcome."""
    return outcome.name.lower().replace("_", " ")
