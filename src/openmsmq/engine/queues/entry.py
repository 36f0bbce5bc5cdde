"""A message as it is found in a queue."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A message found in a queue."""

    lookup: int
    record: bytes
    packet: bytes
    express: bool = False
