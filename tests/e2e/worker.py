"""A program that works with queues until it is killed: `python -m tests.e2e.worker DIR SEED N`.

It says on standard output what was acknowledged, and only then. Numbers count up from N, so that
order and loss can be seen.

    sent N     a message was sent to `plain`
    got N      a message was received from `plain`
    pair N     a transaction sent a message to `left` and one to `right`
    moved N    a transaction received a message from `left` and sent it to `done`
    aborted N  a transaction received a message from `left` and was aborted
"""

from __future__ import annotations

import os
import random
import sys

import openmsmq
from openmsmq import Message, Queue

QUEUES = {"plain": False, "left": True, "right": True, "done": True}


def say(text: str) -> None:
    """Tell the parent, at once."""
    os.write(1, f"{text}\n".encode())


def text_of(message: openmsmq.ReceivedMessage) -> str:
    """The number a message carries."""
    return message.body.decode()


class Worker:
    """Works until the end."""

    def __init__(self, manager: openmsmq.Manager, seed: int, number: int) -> None:
        self.manager = manager
        self.random = random.Random(seed)
        self.number = number
        self.queues: dict[str, Queue] = {name: manager.open_queue(name) for name in QUEUES}

    def message(self) -> Message:
        """The next message."""
        self.number += 1
        return Message(str(self.number).encode(), label="x" * self.random.randrange(100))

    def send(self) -> None:
        """One message outside a transaction."""
        self.queues["plain"].send(self.message())
        say(f"sent {self.number}")

    def receive(self) -> None:
        """One message outside a transaction."""
        for message in self.queues["plain"].receive_many(1, timeout=0):
            say(f"got {text_of(message)}")

    def pair(self) -> None:
        """Two messages in two queues, or none; sometimes in two phases."""
        message = self.message()
        if self.random.random() < 0.3:
            transaction = self.manager.transaction(f"pair-{self.number}")
            self.queues["left"].send(message, transaction=transaction)
            self.queues["right"].send(message, transaction=transaction)
            transaction.prepare()
            say(f"prepared {self.number}")
            transaction.commit()
        else:
            with self.manager.transaction() as transaction:
                self.queues["left"].send(message, transaction=transaction)
                self.queues["right"].send(message, transaction=transaction)
        say(f"pair {self.number}")

    def move(self) -> None:
        """A message from one queue to another, or not."""
        transaction = self.manager.transaction()
        found = self.queues["left"].receive_many(1, timeout=0, transaction=transaction)
        if not found:
            transaction.abort()
            return
        if self.random.random() < 0.2:
            transaction.abort()
            say(f"aborted {text_of(found[0])}")
            return
        self.queues["done"].send(Message(found[0].body), transaction=transaction)
        transaction.commit()
        say(f"moved {text_of(found[0])}")


def main() -> None:
    """Work until killed."""
    directory, seed, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with openmsmq.open(directory) as manager:
        worker = Worker(manager, seed, number)
        say("ready")
        actions = [worker.send, worker.receive, worker.pair, worker.move]
        while True:
            worker.random.choice(actions)()


if __name__ == "__main__":
    main()
