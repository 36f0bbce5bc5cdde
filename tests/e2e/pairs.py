"""A program that keeps two queues alike until it is asked to end: `python -m tests.e2e.pairs DIR`.

Every transaction sends some messages to both queues, or takes as many from both. Messages are
numbered without a gap; the label is the last number of the transaction. It says on standard output
what was acknowledged, and only then:

    sent N     all up to number N are in both queues
    taken N    all up to number N are taken from both
"""

from __future__ import annotations

import os
import random
import signal
import sys

import openmsmq
from openmsmq import Message

QUEUES = ("left", "right")
MOST = 300
"Messages in a queue from which on more are taken than sent."


def say(text: str) -> None:
    """Tell the parent, at once."""
    os.write(1, f"{text}\n".encode())


def work(manager: openmsmq.Manager, chance: random.Random) -> None:
    """Send and take until SIGTERM."""
    queues = [manager.create_queue(name, transactional=True) for name in QUEUES]
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    sent = taken = 0
    say("ready")
    while not ended:
        count = chance.randrange(1, 20)
        if sent - taken < MOST or chance.random() < 0.3:
            numbers = range(sent + 1, sent + count + 1)
            size = chance.choice((10, 500, 9000, 30000))
            messages = [Message(b"%d " % n + bytes(size), label=str(numbers[-1])) for n in numbers]
            with manager.transaction() as transaction:
                for queue in queues:
                    queue.send_many(messages, transaction=transaction)
            sent = numbers[-1]
            say(f"sent {sent}")
        else:
            with manager.transaction() as transaction:
                for queue in queues:
                    assert len(queue.receive_many(count, 0, transaction=transaction)) == count
            taken += count
            say(f"taken {taken}")


def main() -> None:
    """Work on a directory."""
    with openmsmq.open(sys.argv[1]) as manager:
        work(manager, random.Random(1))


if __name__ == "__main__":
    main()
