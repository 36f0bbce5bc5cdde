"""What was sent on a session and is not acknowledged yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from openmsmq.packet.headers.session import SessionHeader

FLAG_BITS: Final = 32
"Messages that RecoverableMsgAckFlags tells about."
RECOVERY_SECONDS: Final = 30.0
"After this a window that was shut to 1 doubles, and again, until it is as before (AMB-49)."

MASK: Final = 0xFFFF
"Sequence numbers of a session have 16 bits and wrap (AMB-32)."
HALF: Final = 0x8000

Token = object
"Whatever the caller wants back when a message is acknowledged."


class Outbound:
    """The sending half of a session: numbers ([MS-MQQB] 3.1.1.4), the window, and who waits."""

    __slots__ = (
        "_express",
        "_narrowed",
        "_own_window",
        "_recoverable",
        "_windows",
        "acked",
        "recoverable_sent",
        "sent",
    )

    def __init__(self, own_window: int) -> None:
        self.sent = 0
        "MessageSentCount ([MS-MQQB] 3.1.1.3.1)."
        self.recoverable_sent = 0
        "RecoverableMessageSentCount."
        self.acked = 0
        "The last AckSequenceNumber that came."
        self._own_window = min(own_window, HALF)
        self._windows = (1, 1)
        "The peer's window now, and as it was agreed on."
        self._narrowed = 0.0
        "When the window was made smaller, or doubled last."
        self._express: deque[tuple[int, Token]] = deque()
        self._recoverable: deque[tuple[int, Token]] = deque()

    @property
    def is_waiting(self) -> bool:
        """Something was sent that the peer has not acknowledged in full."""
        return bool(self._express or self._recoverable)

    @property
    def waiting(self) -> int:
        """How many messages were sent that the peer has not acknowledged in full."""
        return len(self._express) + len(self._recoverable)

    @property
    def window(self) -> int:
        """How many messages may be under way (AMB-19)."""
        return max(1, min(self._own_window, self._windows[0]))

    @property
    def room(self) -> int:
        """How many more may be sent before the peer acknowledges some (AMB-19).

        Recoverable messages that it has but has not stored are under way no more; their numbers
        must not come around (AMB-32).
        """
        free = self.window - distance(self.acked, self.sent)
        return max(0, min(free, HALF - len(self._recoverable)))

    def agree(self, window: int) -> None:
        """The peer's window, as ConnectionParameters has it; 0 counts as 1 (AMB-26)."""
        self._windows = (max(1, window),) * 2

    def narrow(self, window: int, now: float) -> None:
        """The peer says how much it takes from now on (WindowSize, AMB-49)."""
        agreed = self._windows[1]
        window = min(max(1, window), agreed)
        if window < self._windows[0]:
            self._narrowed = now
        self._windows = window, agreed

    def widen(self, now: float) -> None:
        """Double a window that was made smaller, every half minute (AMB-49)."""
        window, agreed = self._windows
        while window < agreed and now >= self._narrowed + RECOVERY_SECONDS:
            window = min(2 * window, agreed)
            self._narrowed += RECOVERY_SECONDS
        self._windows = window, agreed

    @property
    def widens_at(self) -> float | None:
        """When the window doubles next; None if it is as agreed on."""
        window, agreed = self._windows
        return self._narrowed + RECOVERY_SECONDS if window < agreed else None

    def add(self, tokens: Sequence[Token], *, recoverable: bool) -> None:
        """Count messages that are sent now ([MS-MQQB] 3.1.7.1.3)."""
        count = len(tokens)
        last = self.recoverable_sent if recoverable else self.sent
        self.sent = self.sent + count & MASK
        numbers: Iterable[int] = range(last + 1, last + count + 1)
        if last + count > MASK:
            numbers = [number & MASK for number in numbers]
        if recoverable:
            self.recoverable_sent = last + count & MASK
            self._recoverable.extend(zip(numbers, tokens, strict=True))
        else:
            self._express.extend(zip(numbers, tokens, strict=True))

    def acknowledge(self, header: SessionHeader) -> list[Token]:
        """Take an acknowledgement; the messages it completes ([MS-MQQB] 3.1.5.5.1 to .3).

        Numbers that were never sent are ignored.
        """
        done: list[Token] = []
        number = header.ack_sequence_number
        if distance(self.acked, number) <= distance(self.acked, self.sent):
            self.acked = number
            express = self._express
            while express and number - express[0][0] & MASK < HALF:
                done.append(express.popleft()[1])
        flags = header.recoverable_msg_ack_flags
        if flags and self._recoverable:
            self._confirm(header.recoverable_msg_ack_seq_number, flags, done)
        return done

    def _confirm(self, base: int, flags: int, done: list[Token]) -> None:
        """All up to the base, and those whose bits are set; no flags mean nothing (AMB-32)."""
        waiting = self._recoverable
        first, count = waiting[0][0], flags.bit_length()
        is_usual = base == first and flags + 1 == 1 << count and count <= len(waiting)
        if is_usual and waiting[count - 1][0] == base + count - 1 & MASK:  # without a gap
            done += [waiting.popleft()[1] for _ in range(count)]
            return
        up_to = distance(first, base)
        if up_to > distance(first, self.recoverable_sent):
            up_to = -1  # the base is not under way; what its bits are about may be
        left: deque[tuple[int, Token]] = deque()
        while waiting:
            number, token = waiting[0]
            bit = distance(base, number)
            if distance(first, number) <= up_to or flags >> bit & 1:
                done.append(token)
            elif 0 < bit < FLAG_BITS:
                left.append(waiting[0])
            else:
                break
            waiting.popleft()
        waiting.extendleft(reversed(left))


def distance(start: int, end: int) -> int:
    """How far it is from one number up to another, around the corner if need be."""
    return (end - start) & MASK
