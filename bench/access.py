"""What an access check costs: processor time for each durable message, with and without a list.

`python -m bench.access [ROUNDS]`: messages that a program sends one by one, and messages of another
manager, to a queue without permissions and to one whose list has 20 entries, of which the last one
decides. Both queues take turns, and the median of the ratios counts: at most 1.05.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from uuid import UUID

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalOutcome, Origin
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.names.direct import DirectName
from openmsmq.names.path import shown
from openmsmq.runtime.drivers import ThreadDriver as Driver
from openmsmq.runtime.startup import open_directory
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

ROUNDS = 100
COUNT = 150
TOGETHER = 10
"Messages of another manager that come together."
BAR = 1.05
BODY = bytes(1024)
ELSEWHERE = UUID(int=99)
ANNA = Caller("bench", Grant("send", user="anna"))
OTHERS = "".join(f"(A;;LC;;;S-1-5-21-1-2-3-{number})" for number in range(19))
_numbers = count(1)


def sent(driver: Driver, manager: QueueManager, queue: ManagedQueue) -> float:
    """Microseconds for each message that a program sends."""
    opened = driver.call(lambda: manager.open_queue(shown(queue.name), Mode(Access.SEND), ANNA))
    message = [Message(BODY, recoverable=True)]
    start = time.process_time()
    for _ in range(COUNT):
        driver.wait(lambda: opened.send(message))
    took = time.process_time() - start
    driver.call(opened.close)
    driver.wait(lambda: manager.queue_lifecycle.purge(queue))
    return took / COUNT * 1e6


def arrived(driver: Driver, manager: QueueManager, queue: ManagedQueue) -> float:
    """Microseconds for each message of another manager; every one is looked at by itself."""
    to = DirectName.from_wire(f"OS:{manager.name}\\{queue.name}")
    packer = Packer(ELSEWHERE)
    now = int(time.time())
    packets = [
        packer.pack_many(
            [Message(BODY, recoverable=True, priority=place % 8)],
            to,
            first_id=next(_numbers),
            sent_time=now,
        )[0]
        for place in range(COUNT)
    ]
    arrivals: list[Arrival] = [(packet, None) for packet in packets]

    def take(some: list[Arrival]) -> Future[ArrivalOutcome]:
        pending: Future[ArrivalOutcome] = Future()
        origin = Origin("10.0.0.9", "another manager", ELSEWHERE.bytes_le)
        manager.arrivals.take(origin, some, pending.succeed)
        return pending

    start = time.process_time()
    for place in range(0, COUNT, TOGETHER):
        driver.wait(partial(take, arrivals[place : place + TOGETHER]))
    took = time.process_time() - start
    assert queue.messages == COUNT
    driver.wait(lambda: manager.queue_lifecycle.purge(queue))
    return took / COUNT * 1e6


def main(rounds: int = ROUNDS) -> None:
    """Measure both, and print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        manager = open_directory(Path(folder), "here", receipts=RECEIPTS)
        driver = Driver(manager, manager.clock)
        plain = driver.wait(lambda: manager.create_queue("plain"))
        listed = driver.wait(lambda: manager.create_queue("listed"))
        sid = ANNA.grant.sid
        sddl = f"O:BAD:{OTHERS}(A;;LC;;;{sid})(A;;LC;;;AN)"
        driver.wait(lambda: manager.set_permissions(listed, sddl))
        measured: tuple[tuple[str, Callable[..., float]], ...] = (
            ("sent by a program", sent),
            ("of another manager", arrived),
        )
        for words, measure in measured:
            pairs = []
            for place in range(rounds + 1):
                order = (plain, listed) if place % 2 else (listed, plain)
                found = {queue.name: measure(driver, manager, queue) for queue in order}
                pairs.append((found[plain.name], found[listed.name]))
            ratio = statistics.median(one / other for other, one in pairs[1:])
            without = statistics.median(pair[0] for pair in pairs[1:])
            verdict = "" if ratio <= BAR else f"  (more than {BAR})"
            print(
                f"durable messages {words}: {without:.0f} us of processor time each,"
                f" with a list of 20 entries {ratio:.3f} of that{verdict}",
                flush=True,
            )
        driver.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
