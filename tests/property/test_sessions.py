"""Two sessions on a connection that cuts and delays bytes as it likes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from hypothesis import event, given
from hypothesis import strategies as st
from tests.samples import one_by_one, patch, user_message

from openmsmq.packet.headers.user import UserHeaderStart
from openmsmq.packet.walk import USER
from openmsmq.transports.mqqb.events import Acknowledged, Arrived, Closed, Outgoing, SessionEnd
from openmsmq.transports.mqqb.session import Session
from openmsmq.transports.mqqb.timers import SessionTimers

IDENTIFIER: Final = USER + UserHeaderStart.offset_of("MessageID")
PACKETS: Final = {
    (recoverable, bare): user_message(
        flags=recoverable << 5, base_flags=0 if bare else 3, destination=None
    ).encode()
    for recoverable in (False, True)
    for bare in (False, True)
}
QUIET: Final = {SessionEnd.SILENT, SessionEnd.SLOW, SessionEnd.IDLE}
"Ends that a connection which brings nothing may have."


@dataclass
class Side:
    """One session, what it was given and what it reported."""

    session: Session
    window: int
    wire: bytearray = field(default_factory=bytearray)
    "What it has written and the other has not got."
    sent: list[bool] = field(default_factory=list)
    "Whether each message sent is recoverable; its place is its token and its identifier."
    arrived: list[int] = field(default_factory=list)
    recoverable: list[int] = field(default_factory=list)
    "Those of them that are, by identifier."
    stored: int = 0
    acknowledged: list[int] = field(default_factory=list)
    end: SessionEnd | None = None

    def take(self) -> None:
        """Collect what the session says."""
        self.wire += self.session.data_to_send()
        for found in one_by_one(self.session.take_events()):
            match found:
                case Arrived(packet, number):
                    identifier = int.from_bytes(packet[IDENTIFIER : IDENTIFIER + 4], "little")
                    self.arrived.append(identifier)
                    if number:
                        self.recoverable.append(identifier)
                        assert number == len(self.recoverable)
                case Acknowledged(tokens):
                    self.acknowledged += [token for token in tokens if isinstance(token, int)]
                case Closed(end, _):
                    assert self.end is None
                    self.end = end

    def tokens(self, *, recoverable: bool) -> list[int]:
        """What was sent of one kind."""
        return [token for token, kind in enumerate(self.sent) if kind is recoverable]


class World:
    """Both sides, the connection, and a clock."""

    def __init__(self, windows: tuple[int, int]) -> None:
        self.now = 0.0
        self.sides = [
            Side(
                Session(
                    UUID(int=place + 1),
                    now=0,
                    is_initiator=not place,
                    timing=SessionTimers(window=window),
                ),
                window,
            )
            for place, window in enumerate(windows)
        ]
        self.collect()

    @property
    def is_over(self) -> bool:
        return any(side.end for side in self.sides)

    def collect(self) -> None:
        for side in self.sides:
            side.take()
        self.check()

    def send(self, place: int, kinds: list[tuple[bool, bool]]) -> None:
        side = self.sides[place]
        batch = []
        for recoverable, bare in kinds[: side.session.room]:
            token = len(side.sent)
            packet = patch(PACKETS[recoverable, bare], IDENTIFIER, token.to_bytes(4, "little"))
            batch.append(Outgoing(packet, token, recoverable))
            side.sent.append(recoverable)
        if batch:
            side.session.send(batch, self.now)

    def carry(self, place: int, count: int) -> None:
        """Bring some bytes to the other side."""
        wire = self.sides[place].wire
        data = bytes(wire[:count])
        del wire[:count]
        if data:
            self.sides[1 - place].session.receive_data(data, self.now)

    def store(self, place: int, count: int) -> None:
        """The next messages that came are on disk."""
        side = self.sides[place]
        for _ in range(min(count, len(side.recoverable) - side.stored)):
            side.stored += 1
            side.session.stored(side.stored, self.now)

    def store_all(self) -> None:
        self.collect()
        for place in (0, 1):
            self.store(place, len(self.sides[place].recoverable))
        self.collect()

    def wait(self, seconds: float) -> None:
        """Let time pass; ticks come late rather than early."""
        self.now += seconds
        for side in self.sides:
            side.session.tick(self.now)

    def pause(self, place: int) -> None:
        self.sides[place].session.pause()

    def deliver(self) -> None:
        """Bring and store everything, in no time."""
        self.store_all()
        while any(side.wire for side in self.sides):
            for place in (0, 1):
                self.carry(place, len(self.sides[place].wire))
            self.store_all()

    def quiesce(self) -> None:
        """Let a minute pass, or less if that is enough for everything to be acknowledged."""
        end = self.now + 60
        self.deliver()
        while not self.is_over and not self.is_done:
            deadlines = [side.session.next_deadline for side in self.sides]
            at = min(deadline for deadline in deadlines if deadline is not None)
            if at > end:
                return
            self.wait(max(0, at - self.now))
            self.deliver()

    @property
    def is_done(self) -> bool:
        return all(len(side.acknowledged) == len(side.sent) for side in self.sides)

    def check(self) -> None:
        """What holds at any time."""
        smaller = min(side.window for side in self.sides)
        for side, other in (self.sides, reversed(self.sides)):
            assert other.arrived == list(range(len(other.arrived))), "once, in order"
            assert len(other.arrived) <= len(side.sent)
            assert len(side.sent) - len(other.arrived) <= smaller
            if side.session.is_open and other.session.is_open:
                assert side.session.outbound.window <= smaller
            self.check_acknowledged(side, other)
            assert side.end is None or side.end in QUIET

    def check_acknowledged(self, side: Side, other: Side) -> None:
        """What one side believes of the other is true."""
        reported = set(side.acknowledged)
        assert len(reported) == len(side.acknowledged), "each once"
        express = [t for t in side.tokens(recoverable=False) if t in reported]
        assert express == side.tokens(recoverable=False)[: len(express)], "no gaps"
        assert set(express) <= set(other.arrived)
        recoverable = [t for t in side.tokens(recoverable=True) if t in reported]
        assert recoverable == side.tokens(recoverable=True)[: len(recoverable)]
        assert recoverable == other.recoverable[: len(recoverable)]
        assert len(recoverable) <= other.stored, "not before it is on disk"


@dataclass(frozen=True)
class Round:
    """One side sends, some of it gets there, some of that is stored, and some answers come."""

    sender: int
    kinds: list[tuple[bool, bool]]
    "Whether each message is recoverable, and whether its BaseHeader has no flags."
    there: int
    stored: int
    pauses: bool
    seconds: float
    back: int

    def play(self, world: World) -> None:
        receiver = 1 - self.sender
        world.send(self.sender, self.kinds)
        world.collect()
        world.carry(self.sender, self.there)
        world.collect()
        world.store(receiver, self.stored)
        if self.pauses:
            world.pause(receiver)
        world.wait(self.seconds)
        world.collect()
        world.carry(receiver, self.back)
        world.collect()


sizes = st.one_of(st.just(1_000_000), st.integers(0, 3000))
rounds = st.builds(
    Round,
    sender=st.integers(0, 1),
    kinds=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=80),
    there=sizes,
    stored=st.integers(0, 40),
    pauses=st.sampled_from([False, False, False, True]),
    seconds=st.sampled_from([0, 0.1, 0.45, 0.6, 1, 7.6, 10, 31]),
    back=sizes,
)
windows = st.sampled_from([1, 2, 5, 64, 2048])


@given(st.tuples(windows, windows), st.booleans(), st.lists(rounds, max_size=12))
def test_every_message_arrives_once_and_is_acknowledged_when_it_is_safe(
    offered: tuple[int, int], is_open: bool, played: list[Round]
) -> None:
    """MQQB-107 to MQQB-109, MQQB-195, MQQB-206 to MQQB-217: for all cuts, delays and orders."""
    world = World(offered)
    if is_open:
        world.deliver()
    for one in played:
        one.play(world)
        if world.is_over:
            event("a session ended")
            return
    world.quiesce()
    event("all settled")
    assert world.is_done, "nothing is stuck"
    assert not any(side.session.outbound.is_waiting for side in world.sides)
    assert not world.is_over


@given(st.tuples(windows, windows), st.lists(st.booleans(), min_size=1, max_size=200))
def test_a_sender_never_waits_for_a_timer(offered: tuple[int, int], kinds: list[bool]) -> None:
    """MQQB-213, AMB-29: as long as messages are stored, there is room for the next ones."""
    world = World(offered)
    world.quiesce()
    left = [(recoverable, False) for recoverable in kinds]
    while left:
        room = world.sides[0].session.room
        assert room, "the window is shut, and only time would open it"
        world.send(0, left)
        del left[:room]
        world.deliver()
