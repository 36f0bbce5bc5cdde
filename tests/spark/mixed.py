"""Messages of all kinds, and whether two of them were sent alike."""

from __future__ import annotations

from random import Random
from typing import Any

from openmsmq import Acknowledge, Message, ReceivedMessage
from openmsmq.types.message import FIELDS

LABELS = ("order", "Grüße", "", "注文 \N{PACKAGE}", "a" * 200)
NAMES = (None, "answers", r"DIRECT=OS:elsewhere\private$\answers", r"DIRECT=TCP:10.0.0.1\q")


def mixed(number: int, random: Random, size_max: int = 300) -> Message:
    """A message with any properties; its number is in `app_specific`."""
    body: bytes | str = random.randbytes(random.randrange(size_max))
    if number % 5 == 0:
        body = f"order {number} für \N{GREEK SMALL LETTER ALPHA}"
    values: dict[str, Any] = {
        "label": f"{random.choice(LABELS)} {number}",
        "priority": random.randrange(8),
        "recoverable": random.random() < 0.7,
        "journal": random.random() < 0.2,
        "dead_letter": random.random() < 0.5,
        "trace": random.random() < 0.1,
        "app_specific": number,
        "extension": random.choice((b"", b'{"rbs2-msg-id":"1"}', random.randbytes(40))),
        "correlation_id": random.choice((b"", random.randbytes(20))),
        "response_queue": random.choice(NAMES),
        "time_to_be_received": random.choice((None, 86_400)),
        "time_to_reach_queue": random.choice((None, 3_600)),
    }
    if number % 7 == 0:
        values |= {"admin_queue": "reports", "acknowledge": Acknowledge.NEG_RECEIVE}
    if number % 3 == 0 and isinstance(body, bytes):
        values["body_type"] = random.choice((0, 8, 17, 0x1011))
    return Message(body, **values)


def sent(message: Message | ReceivedMessage) -> tuple[object, ...]:
    """All that a sender can set."""
    values = (getattr(message, name) for name in FIELDS)
    return tuple(str(value) if "Name" in type(value).__name__ else value for value in values)


def all_sent(messages: list[ReceivedMessage]) -> list[tuple[object, ...]]:
    """The same for many."""
    return [sent(message) for message in messages]
