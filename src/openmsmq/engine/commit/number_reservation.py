"""Blocks of arrival numbers and message identifiers, reserved on disk before they are used.

What was reserved by a process that crashed is never given out again, whether it was used or not.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.operation import Submit
from openmsmq.engine.storage.tables import Table, Writer

ARRIVAL_KEY: Final = b"arrival"
MESSAGE_ID_KEY: Final = b"message-id"
ARRIVAL_BLOCK: Final = 1 << 32
"Arrival numbers reserved at each start; 56 bits allow sixteen million starts."
MESSAGE_ID_BLOCK: Final = 1 << 16
NUMBERS_LEFT: Final = 1000
"Numbers that may still be used while a manager stops."
_u64 = Struct("<Q")


def pack_number(number: int) -> bytes:
    """A number as META rows hold it."""
    return _u64.pack(number)


def unpack_number(row: bytes | None) -> int:
    """The number in a META row; 0 if there is none."""
    return 0 if row is None else int(_u64.unpack(row)[0])


def reserve_arrivals(numbers: Numbers, submit: Submit) -> None:
    """Reserve arrival numbers before those reserved run out."""
    if numbers.arrival <= numbers.arrival_end - ARRIVAL_BLOCK // 2:
        return
    end = numbers.arrival + ARRIVAL_BLOCK

    def committed() -> None:
        numbers.arrival_end = end

    submit(
        lambda batch: batch.writer.put(Table.META, ARRIVAL_KEY, pack_number(end)),
        committed,
        lambda error: None,
        grows=True,
    )


def reserve_message_ids(numbers: Numbers, submit: Submit) -> None:
    """Have a commit made that reserves identifiers of messages, before those reserved run out."""
    if numbers.is_reserving or not _runs_out(numbers):
        return
    numbers.is_reserving = True

    def over(error: BaseException | None = None) -> None:
        numbers.is_reserving = False

    submit(lambda batch: None, over, over)


def write_message_ids(writer: Writer, numbers: Numbers) -> int:
    """Reserve identifiers with a commit; up to which they are reserved if it succeeds.

    Every commit does it that is made when they run out: what it stores has identifiers that are
    reserved, whichever operations fail.
    """
    if not _runs_out(numbers):
        return numbers.message_id_end
    end = numbers.message_id + MESSAGE_ID_BLOCK
    writer.put(Table.META, MESSAGE_ID_KEY, pack_number(end))
    return end


def has_message_ids(numbers: Numbers, count: int) -> bool:
    """Whether identifiers for some messages are reserved, so that none comes again after a crash.

    A call with more of them than are ever reserved ahead is not asked to wait for them.
    """
    return numbers.message_id + count <= numbers.message_id_end or count > MESSAGE_ID_BLOCK // 2


def _runs_out(numbers: Numbers) -> bool:
    return numbers.message_id > numbers.message_id_end - MESSAGE_ID_BLOCK // 2


def give_back(writer: Writer, numbers: Numbers) -> None:
    """Give back numbers that are reserved and not used, but for some that may still be."""
    arrival = min(numbers.arrival + NUMBERS_LEFT, numbers.arrival_end)
    message_id = min(numbers.message_id + NUMBERS_LEFT, numbers.message_id_end)
    writer.put(Table.META, ARRIVAL_KEY, pack_number(arrival))
    writer.put(Table.META, MESSAGE_ID_KEY, pack_number(message_id))
