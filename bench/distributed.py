"""What two phases cost: transactions of 100 messages, in one phase and in two, 1 KiB bodies.

`python -m bench.distributed`. Sends and receives are in a transaction of a service, which is
committed at once, or prepared and then committed. A unit receives 100 messages and writes 100 rows
to a PostgreSQL of its own, beside the same with two commits that know nothing of each other.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg
from tools.postgres import Postgres, PostgresMissing

import openmsmq
from bench import race
from bench.service import Ours
from openmsmq import Manager, Message, Queue, Transaction

SIZE = 100
"Messages of a transaction."
COUNT = 20
"Transactions that are timed together."
ROUNDS = 9
LEAST = 0.4
"What two phases must reach of one."
Work = Callable[[Transaction], object]


def one_phase(manager: Manager, work: Work) -> None:
    """A transaction that is committed at once."""
    with manager.transaction() as transaction:
        work(transaction)


def two_phases(manager: Manager, work: Work) -> None:
    """A transaction that is prepared first."""
    transaction = manager.transaction(uuid.uuid4().hex)
    work(transaction)
    transaction.prepare()
    transaction.commit()


def best(one: Callable[[], None], two: Callable[[], None]) -> tuple[float, float]:
    """Transactions a second of each, the best of a few rounds; they take turns."""
    found = [0.0, 0.0]
    for _ in range(ROUNDS):
        for index, work in enumerate((one, two)):
            start = perf_counter()
            for _ in range(COUNT):
                work()
            found[index] = max(found[index], COUNT / (perf_counter() - start))
    return found[0], found[1]


def show(title: str, one: Callable[[], None], two: Callable[[], None]) -> None:
    """One line of the table."""
    single, double = best(one, two)
    ratio = double / single
    note = "" if ratio >= LEAST else f"   below {LEAST}"
    print(
        f"  {title:34s}{single * SIZE:12,.0f}/s{double * SIZE:12,.0f}/s{ratio:8.2f}{note}",
        flush=True,
    )


def of_a_manager(manager: Manager, queue: Queue) -> None:
    """Sends, then receives."""
    batch = [Message(race.BODY, label="order")] * SIZE

    def send(transaction: Transaction) -> None:
        queue.send_many(batch, transaction=transaction)

    def receive(transaction: Transaction) -> None:
        assert len(queue.receive_many(SIZE, timeout=0, transaction=transaction)) == SIZE

    for title, work in ((f"send {SIZE}", send), (f"receive {SIZE}", receive)):
        show(title, lambda: one_phase(manager, work), lambda: two_phases(manager, work))  # noqa: B023


def with_a_database(manager: Manager, queue: Queue, connection: psycopg.Connection[Any]) -> None:
    """Receives, each of which is a row."""
    with manager.transaction() as transaction:
        for _ in range(2 * ROUNDS * COUNT):
            queue.send_many([Message(race.BODY)] * SIZE, transaction=transaction)
    connection.execute("create table orders (id text primary key, body bytea)")
    connection.commit()

    def move(transaction: Transaction) -> None:
        found = queue.receive_many(SIZE, timeout=0, transaction=transaction)
        assert len(found) == SIZE
        with connection.cursor() as cursor:
            rows = [(message.id, message.body) for message in found]
            cursor.executemany("insert into orders values (%s, %s)", rows)

    def apart() -> None:
        with manager.transaction() as transaction:
            move(transaction)
        connection.commit()

    def unit() -> None:
        with openmsmq.distributed(manager, connection) as transaction:
            move(transaction)

    show(f"receive {SIZE}, insert {SIZE} rows", apart, unit)


def main() -> None:
    print(
        f"  {'transactions of 100, messages':34s}{'one phase':>14s}{'two phases':>14s}{'ratio':>8s}"
    )
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    ours = Ours()
    try:
        address = ours.start(folder)
        with openmsmq.connect(address) as manager:
            queue = manager.create_queue("units", transactional=True)
            of_a_manager(manager, queue)
            try:
                postgres = Postgres()
            except PostgresMissing as error:
                print(f"  {error}")
            else:
                try:
                    with psycopg.connect(postgres.dsn) as connection:
                        with_a_database(manager, queue, connection)
                finally:
                    postgres.close()
        ours.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
