"""What every format name can do."""

from __future__ import annotations

from openmsmq.names.parts import fold


class FormatName:
    """A name by which a queue, or several, can be opened ([MS-MQMQ] 2.1).

    Its text parses back to an equal name. Names are equal when they say the same whatever the
    letter case ([MS-MQDMPR] 3.1.7.3.8) and the way numbers and addresses are written.
    """

    __slots__ = ()

    @property
    def key(self) -> str:
        """The one spelling all equal names share."""
        return fold(str(self))

    @property
    def is_read_only(self) -> bool:
        """True for journals and dead-letter queues."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatName) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
