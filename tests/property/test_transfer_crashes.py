"""A crash at every single write of a transfer of groups: each message arrives once, in order."""

from __future__ import annotations

from typing import Final

import pytest
from tests.unit.transports.wires import Net, Station

from openmsmq.engine.arrivals.groups import Groups
from openmsmq.engine.outgoing import confirmations
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions import transaction
from openmsmq.store.memory import Crash
from openmsmq.transports.mqqb import link, order_acks
from openmsmq.types.message import Message

MANY: Final = 9
KINDS: Final = ("plain", "ordered")
TEXTS: Final = [str(number) for number in range(MANY)]
PATIENCE: Final = 100
"Seconds until all has arrived, whatever happens: some is sent again after half a minute."


class Transfer:
    """Two managers, and messages of the first for queues of the second."""

    def __init__(self) -> None:
        self.net = Net()
        self.stations = {name: Station(self.net, name) for name in "ab"}
        a, b = self.stations.values()
        b.create("plain", permissions="D:(A;;LC;;;AN)")
        b.create("ordered", transactional=True)
        messages = [Message(text.encode(), recoverable=True) for text in TEXTS]
        for kind in KINDS:
            queue = a.out(rf"DIRECT=OS:b\private$\{kind}")
            a.hold_back(queue)
            (a.send if kind == "plain" else a.send_in)(queue, *messages)

    def run(self) -> None:
        """Let all arrive."""
        a = self.stations["a"]
        for kind in KINDS:
            queue = a.out(rf"DIRECT=OS:b\private$\{kind}")
            a.enter(lambda queue=queue: a.local.dispatcher.resume(queue))  # type: ignore[misc]
        self.net.wait(PATIENCE)

    def check(self) -> None:
        """All is there, once and in order, and its sender has forgotten it."""
        a, b = self.stations.values()
        for kind in KINDS:
            assert b.texts(kind) == TEXTS
            assert a.out(rf"DIRECT=OS:b\private$\{kind}").messages == 0
        left = a.store.committed.tables
        tables = (Table.INDEX, Table.PACKETS, Table.RUNS, Table.EXPIRY, Table.TRANSACTIONS)
        assert [len(left[table]) for table in tables] == [0] * len(tables)

    def crash(self, side: str, point: int, *, after: bool) -> None:
        """Let one of them die at a write, and come back."""
        self.stations[side].store.fail_at(point, after=after)
        with pytest.raises(Crash):
            self.run()
        self.stations[side] = self.stations[side].restart_here()
        self.run()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is taken, spilled, confirmed and removed at once be a part of what there is."""
    monkeypatch.setattr(link, "TAKE_MAX", 5)
    monkeypatch.setattr(confirmations, "STEP", 3)
    monkeypatch.setattr(order_acks, "ORDER_ACK_MESSAGES_MAX", 4)
    monkeypatch.setattr(transaction, "SPILL_SIZE", 500)


def writes(side: str) -> int:
    """How many writes one of them makes."""
    transfer = Transfer()
    store = transfer.stations[side].store
    before = store.writes
    transfer.run()
    transfer.check()
    return store.writes - before


def test_messages_travel_and_arrive_as_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the crashes below would show nothing about them."""
    taken: list[int] = []
    take = Groups.take

    def counted(groups: Groups, *args: object) -> bool:
        is_taken = take(groups, *args)  # type: ignore[arg-type]
        taken.append(is_taken)
        return is_taken

    monkeypatch.setattr(Groups, "take", counted)
    transfer = Transfer()
    transfer.run()
    transfer.check()
    assert taken == [True] * 4  # five and four of each kind


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_a_crash_at_any_write_loses_and_doubles_nothing(side: str, after: bool) -> None:
    """Of messages that were taken, sent, stored and removed together."""
    for point in range(1, writes(side) + 1):
        transfer = Transfer()
        transfer.crash(side, point, after=after)
        transfer.check()
