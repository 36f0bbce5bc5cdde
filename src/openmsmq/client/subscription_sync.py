"""Written from `subscription_aio.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from openmsmq.client.backend_sync import Reader
from openmsmq.errors import InvalidParameter
from openmsmq.messages.received import ReceivedMessage

COUNT = 10_000
"Messages that are reserved, unless said otherwise."
SIZE_MAX = 256 * 1024 * 1024
"Their bytes."
POSITION_MAX = (1 << 64) - 1


class Subscription:
    """Reads a queue in steps that can be repeated, whatever happens to this process.

    Positions count the messages that the subscription was given, from 1. It is given the same
    messages at the same positions until it says that it is done with them.
    """

    def __init__(self, reader: Reader, name: str) -> None:
        self._reader = reader
        self.name = name

    @property
    def done(self) -> int:
        """It is done with all messages up to this position."""
        return self._reader.done

    @property
    def end(self) -> int:
        """It was given all messages up to this position."""
        return self._reader.end

    def reserve(self, after: int, count: int = COUNT, size_max: int = SIZE_MAX) -> int:
        """Up to which position, `after` or more, there is something to read.

        What was given before comes first; else up to `count` messages are given that have
        `size_max` bytes together, or at least one if there is any. To ask again does no harm.
        """
        if not 0 <= after <= POSITION_MAX or count < 1 or size_max < 1:
            raise InvalidParameter(f"after {after}, count {count}, size_max {size_max}")
        return self._reader.reserve(after, count, size_max)

    def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """The messages at the positions `after` + 1 and on, as many of those up to `last` as fit.

        At least one, unless `last` is `after`.
        """
        if not 0 <= after <= last <= POSITION_MAX:
            raise InvalidParameter(f"after {after}, last {last}")
        return self._reader.read(after, last) if last > after else []

    def read_packed(self, after: int, last: int) -> bytes:
        """The same for those who decode many at once: the payload of MESSAGES."""
        if after < 0 or last <= after:
            raise InvalidParameter(f"after {after}, last {last}")
        return self._reader.read_packed(after, last)

    def finish(self, position: int, move_to: str = "") -> None:
        """Be done with all messages up to a position; to say it again does nothing.

        They are received then, or moved to the subqueue `move_to`. Of copies there is only an end.
        """
        if not 0 <= position <= POSITION_MAX:
            raise InvalidParameter(f"position {position}")
        self._reader.finish(position, move_to)
