"""Two programs of users, which run and are type-checked against the installed wheel."""

from __future__ import annotations

from typing import Final

EMBEDDED: Final = '''
"""Count the orders of a directory by label."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import openmsmq
from openmsmq import Access, Message, MQError, Queue, ReceivedMessage, ReceiveTimeout


def fill(orders: Queue, labels: list[str]) -> list[str]:
    """Send a message for each label; their ids."""
    sent = orders.send_many([Message(b"<order/>", label=label, priority=4) for label in labels])
    return [str(one) for one in sent]


def drain(orders: Queue) -> Counter[str]:
    """Receive everything that is there."""
    found: Counter[str] = Counter()
    while True:
        try:
            message: ReceivedMessage = orders.receive(timeout=0)
        except ReceiveTimeout:
            return found
        found[message.label] += 1


def main(directory: Path) -> None:
    """Send, look and receive."""
    with openmsmq.open(directory) as manager:
        orders = manager.create_queue("orders", transactional=False)
        ids = fill(orders, ["a", "b", "a"])
        events = manager.explain(ids[0])
        assert events and events[0].text
        reader = manager.open_queue("orders", access=Access.RECEIVE | Access.PEEK)
        assert reader.peek(timeout=0).label == "a"
        assert drain(reader) == Counter(a=2, b=1)
        try:
            manager.open_queue("none")
        except MQError as error:
            print(f"{openmsmq.__version__}: {type(error).__name__}")


main(Path(sys.argv[1]))
'''

REMOTE: Final = '''
"""Move messages through a service in transactions."""

from __future__ import annotations

import asyncio
import sys

import openmsmq
import openmsmq.aio
from openmsmq import Manager, Message


def send(manager: Manager, count: int) -> None:
    """Send numbered messages in one transaction."""
    queue = manager.create_queue("numbers", transactional=True)
    with manager.transaction() as transaction:
        for number in range(count):
            queue.send(Message(str(number), label=f"n{number}"), transaction=transaction)


async def receive(address: str, count: int) -> list[str]:
    """Receive as many, one after the other."""
    texts: list[str] = []
    async with await openmsmq.aio.connect(address) as manager:
        queue = await manager.open_queue("numbers")
        for _ in range(count):
            message = await queue.receive(timeout=5.0)
            texts.append(message.text or "")
    return texts


def main(address: str) -> None:
    """Send and receive."""
    with openmsmq.connect(address) as manager:
        send(manager, 3)
        info = manager.open_queue("numbers").info()
        assert info.messages == 3 and info.transactional
    received = asyncio.run(receive(address, 3))
    assert received == ["0", "1", "2"], received
    print(f"received {len(received)}")


main(sys.argv[1])
'''
