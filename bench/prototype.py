"""What the packet codec is measured against: `struct` written by hand for one fixed shape.

No optional header, no names, no checks: the least work that could be called packing and parsing.
"""

from __future__ import annotations

import os
import struct
import uuid

BASE = struct.Struct("<BBHIII")
USER = struct.Struct("<16s16sIIII16s")
PROPERTIES = struct.Struct("<BBH20sIIIIII")
ROUTE = struct.Struct("<2xHII").unpack_from
TARGET = struct.Struct("<I4xII16s").unpack_from
LABEL = "order/created".encode("utf-16-le")
SIGNATURE = 0x524F494C

SOURCE, ADDRESS, QUEUE = (uuid.uuid4().bytes for _ in range(3))
CORRELATION = bytes(20)
BODY = os.urandom(1024)
START = BASE.size + USER.size + PROPERTIES.size
HEADERS = START + len(LABEL)


def pack(number: int) -> bytes:
    """One packet; only its number differs from the last."""
    return b"".join(
        (
            BASE.pack(0x10, 0, 3, SIGNATURE, HEADERS + len(BODY), 0xFFFFFFFF),
            USER.pack(SOURCE, ADDRESS, 86400, 1700000000, number, 0x24, QUEUE),
            PROPERTIES.pack(3, len(LABEL), 0, CORRELATION, 0, 7, 0, len(BODY), 0, 0),
            LABEL,
            BODY,
        )
    )


def parse_lazy(packet: bytes) -> tuple[int, str, bytes]:
    """Priority, label and destination of one packet."""
    flags, signature, _ = ROUTE(packet, 0)
    if signature != SIGNATURE:
        raise ValueError(signature)
    _, _, _, destination = TARGET(packet, BASE.size + 32)
    return flags & 7, packet[START : START + len(LABEL)].decode("utf-16-le"), destination


def parse_full(packet: bytes) -> dict[str, object]:
    """Every field of one packet."""
    base = BASE.unpack_from(packet)
    user = USER.unpack_from(packet, BASE.size)
    properties = PROPERTIES.unpack_from(packet, BASE.size + USER.size)
    label_end = START + properties[1]
    return {
        "flags": base[2],
        "size": base[4],
        "time_to_reach_queue": base[5],
        "source": user[0],
        "address": user[1],
        "time_to_be_received": user[2],
        "sent_time": user[3],
        "message_id": user[4],
        "destination": user[6],
        "class": properties[2],
        "correlation": properties[3],
        "application_tag": properties[5],
        "label": packet[START:label_end].decode("utf-16-le"),
        "body": packet[label_end:],
    }
