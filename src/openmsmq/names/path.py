"""Path names: the computer and the queue on it ([MS-MQMQ] 2.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from openmsmq.errors import IllegalQueuePathName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parts import (
    MACHINE_QUEUES,
    Fault,
    QueueParts,
    Suffix,
    check_computer,
    check_queue,
    fold,
    host_key,
    join_queue,
    refused_as,
    split_queue,
)

THIS_COMPUTER = "."
_JOURNAL = "\\" + MACHINE_QUEUES[Suffix.JOURNAL]
_MACHINE_SUFFIXES = {fold(name): suffix for suffix, name in MACHINE_QUEUES.items()}


@dataclass(frozen=True, slots=True, eq=False)
class PathName:
    r"""A queue by computer and name, `HOST\private$\orders;retry` ([MS-MQMQ] 2.1.1).

    Journals and dead-letter queues print the way System.Messaging writes them,
    `HOST\orders\Journal$` and `HOST\DeadLetter$`. Letter case does not count in comparisons.
    """

    computer: str
    "`.` is this computer."
    queue: str = ""
    "Empty for a queue of the computer itself, which `suffix` then names."
    private: bool = False
    subqueue: str = ""
    suffix: Suffix = Suffix.NONE

    def __post_init__(self) -> None:
        with refused_as(IllegalQueuePathName, str(self)):
            check_computer(self.computer)
            check_queue(self.queue_parts)

    @property
    def queue_parts(self) -> QueueParts:
        """What follows the computer."""
        return QueueParts(self.queue, self.private, self.subqueue, self.suffix)

    @property
    def is_read_only(self) -> bool:
        """True for journals and dead-letter queues."""
        return self.suffix.is_read_only

    @property
    def key(self) -> str:
        """Equal for names that are spelled alike but for letter case and forms of an address."""
        return f"{host_key(self.computer)}\\{fold(join_queue(self.queue_parts))}"

    @classmethod
    def from_direct(cls, name: DirectName) -> Self:
        """The path name of the queue of a direct format name ([MS-MQDMPR] 3.1.7.1.26)."""
        return cls(name.address, *name.queue_parts)

    def to_direct(self) -> DirectName:
        r"""The direct format name for the same queue, `DIRECT=OS:HOST\private$\orders`."""
        return DirectName(Protocol.OS, self.computer, *self.queue_parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathName) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        parts = self.queue_parts
        if self.suffix not in MACHINE_QUEUES:
            return f"{self.computer}\\{join_queue(parts)}"
        owner = join_queue(parts._replace(suffix=Suffix.NONE)) + "\\" if self.queue else ""
        return f"{self.computer}\\{owner}{MACHINE_QUEUES[self.suffix]}"


def parse_path_name(text: str) -> PathName:
    r"""The path name written as `text`: `HOST\orders`, `.\private$\orders`, ... ([MS-MQMQ] 2.1.1).

    Besides the grammar's `HOST\system$;DEADXACT` it takes the names System.Messaging uses:
    `HOST\XactDeadLetter$`, `HOST\orders\Journal$`.
    """
    with refused_as(IllegalQueuePathName, text):
        computer, backslash, rest = text.partition("\\")
        if not backslash:
            raise Fault("a path name is a computer, a backslash and a queue")
        parts = _split_rest(rest)
    return PathName(computer, *parts)


def _split_rest(rest: str) -> QueueParts:
    suffix = _MACHINE_SUFFIXES.get(fold(rest))
    if suffix:
        return QueueParts("", False, "", suffix)
    if not fold(rest).endswith(fold(_JOURNAL)):
        return split_queue(rest)
    parts = split_queue(rest[: -len(_JOURNAL)])
    if parts.suffix:
        raise Fault("a journal has no journal")
    return parts._replace(suffix=Suffix.JOURNAL)


def shown(local: str) -> str:
    r"""The path name that people write: `.\private$\orders\Journal$`."""
    return str(PathName(".", *split_queue(local)))
