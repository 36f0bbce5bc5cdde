"""A program that does all kinds of things with its queues, and says after each what must be there.

`python -m tests.e2e.power_worker DIRECTORY SEED STEPS` writes a line to descriptor 1 after each
call that was answered: the state that a later start has to show. Each call is one commit.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import threading
import time
from typing import Any, Final

import openmsmq
from openmsmq import Manager, Message
from openmsmq.store import checkpoints
from openmsmq.store.commit_log import sync

PLAIN: Final = ("a", "b")
TRANSACTIONAL: Final = "t"
SUB: Final = "a;later"
READER: Final = "reader"
MARK: Final = "STATE "
SIZES: Final = (0, 10, 300, 3000, 9000, 60_000)
LOGGED_COMMITS_MAX: Final = 7
State = dict[str, Any]


def set_up(manager: Manager) -> None:
    """Make the queues."""
    for name in PLAIN:
        manager.create_queue(name)
    manager.create_queue(TRANSACTIONAL, transactional=True)
    manager.open_queue("b").subscription(READER)


def look(manager: Manager) -> State:
    """What can be seen of a manager."""
    names = [info.name.partition("$\\")[2] for info in manager.queues()]
    queues = {}
    for name in sorted(name for name in names if name and ";" not in name):
        queues[name] = [m.label for m in manager.open_queue(name).peek_many(10_000, timeout=0)]
    queues[SUB] = [m.label for m in manager.open_queue(SUB).peek_many(10_000, timeout=0)]
    (reader,) = manager.subscriptions()
    return {
        "queues": queues,
        "prepared": sorted(manager.prepared()),
        "reader": [reader.committed, reader.reserved],
    }


class Work:
    """Random calls, and what each of them leaves."""

    def __init__(self, manager: Manager, seed: int) -> None:
        self.manager = manager
        self.random = random.Random(seed)
        self.state = look(manager)
        self.number = 0
        self.dispositions: dict[str, list[str]] = {}
        "What the transactional queue holds if the transaction that is prepared commits or aborts."

    @property
    def queues(self) -> dict[str, list[str]]:
        """The labels in each queue."""
        found: dict[str, list[str]] = self.state["queues"]
        return found

    def message(self) -> Message:
        """Another message."""
        self.number += 1
        size = self.random.choice(SIZES)
        return Message(self.random.randbytes(size), label=str(self.number), recoverable=True)

    def step(self) -> None:
        """Do something, and say what must be there when it is answered."""
        actions = [*[self.send] * 5, self.receive, self.move, self.transact, self.prepare]
        actions += [self.end, self.purge, self.reserve, self.finish, self.make]
        self.random.choice(actions)()
        os.write(1, f"{MARK}{json.dumps(self.state)}\n".encode())

    def send(self) -> None:
        """Send some messages together, which are stored as a run if they are many."""
        name = self.random.choice(PLAIN)
        messages = [self.message() for _ in range(self.random.choice((1, 1, 4, 12)))]
        self.manager.open_queue(name).send_many(messages)
        self.queues[name] += [message.label for message in messages]

    def receive(self) -> None:
        """Receive some."""
        name = self.random.choice((*PLAIN, SUB))
        if not self.queues[name]:
            return
        found = self.manager.open_queue(name).receive_many(self.random.randint(1, 3), timeout=0)
        assert [message.label for message in found] == self.queues[name][: len(found)]
        del self.queues[name][: len(found)]

    def move(self) -> None:
        """Move a message to a subqueue, where it keeps its place among the others."""
        queue = self.manager.open_queue("a")
        found = queue.peek_many(20, timeout=0)
        if found:
            message = self.random.choice(found)
            queue.move(message.lookup_id, "later")
            self.queues["a"].remove(message.label)
            self.queues[SUB] = sorted([*self.queues[SUB], message.label], key=int)

    def _work(self, xid: str) -> tuple[openmsmq.Transaction, State]:
        """A transaction that sends, sometimes more than fits memory, and receives."""
        transaction = self.manager.transaction(xid)
        after = copy.deepcopy(self.state)
        queue = self.manager.open_queue(TRANSACTIONAL)
        if self.queues[TRANSACTIONAL] and self.random.random() < 0.7:
            label = queue.receive(timeout=0, transaction=transaction).label
            self.queues[TRANSACTIONAL].remove(label)
            after["queues"][TRANSACTIONAL].remove(label)
        for count in self.random.choice(((1,), (1, 1, 1), (12,), (1, 40, 4, 1))):
            messages = [self.message() for _ in range(count)]  # if they are many, they are a run
            queue.send_many(messages, transaction=transaction)
            after["queues"][TRANSACTIONAL] += [message.label for message in messages]
        return transaction, after

    def transact(self) -> None:
        """A transaction in one phase."""
        if self.dispositions:
            return
        before = copy.deepcopy(self.state)
        transaction, after = self._work("")
        if self.random.random() < 0.3:
            transaction.abort()
            self.state = before
        else:
            transaction.commit()
            self.state = after

    def prepare(self) -> None:
        """One at a time, so that what is left is easily said."""
        if self.dispositions:
            return
        xid = f"x{self.number}"
        before = copy.deepcopy(self.state)
        transaction, after = self._work(xid)
        transaction.prepare()
        self.state["prepared"] = [xid]
        self.dispositions = {
            "commit": after["queues"][TRANSACTIONAL],
            "abort": before["queues"][TRANSACTIONAL],
        }

    def end(self) -> None:
        """Decide what is prepared."""
        for xid in self.state["prepared"]:
            way = self.random.choice(("commit", "abort"))
            getattr(self.manager, f"{way}_prepared")(xid)
            self.queues[TRANSACTIONAL] = self.dispositions[way]
        self.state["prepared"] = []
        self.dispositions = {}

    def purge(self) -> None:
        """Remove all messages of a queue."""
        if self.random.random() < 0.3:
            name = self.random.choice(PLAIN)
            self.manager.open_queue(name).purge()
            self.queues[name].clear()

    def reserve(self) -> None:
        """Give a subscription some messages."""
        reader = self.manager.open_queue("b").subscription(READER)
        count = self.random.randint(1, 4)
        end = reader.reserve(reader.reserved, count)
        given = end - self.state["reader"][1]
        del self.queues["b"][:given]
        self.state["reader"][1] = end

    def finish(self) -> None:
        """It is done with some."""
        reader = self.manager.open_queue("b").subscription(READER)
        position = self.random.randint(reader.committed, reader.reserved)
        reader.commit(position)
        self.state["reader"][0] = position

    def make(self) -> None:
        """A queue that comes, or goes with what is in it."""
        if "new" in self.queues:
            self.manager.delete_queue("new")
            del self.queues["new"]
        else:
            self.manager.create_queue("new")
            self.queues["new"] = []


def sync_late(file: int) -> None:
    """Give commits time to come before a thread has synced LMDB's file beside them."""
    if threading.current_thread() is not threading.main_thread():
        time.sleep(random.choice((0.0, 0.01)))
    sync(file)


def main() -> None:
    """What the command line asks for."""
    directory, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # Else few checkpoints are made.
    vars(checkpoints).update(LOGGED_COMMITS_MAX=LOGGED_COMMITS_MAX, sync=sync_late)
    with openmsmq.open(directory) as manager:
        work = Work(manager, seed)
        os.write(1, f"{MARK}{json.dumps(work.state)}\n".encode())
        for _ in range(steps):
            work.step()


if __name__ == "__main__":
    main()
