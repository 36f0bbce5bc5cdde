"""A program that writes orders to a table: `python -m tests.e2e.buyer MANAGER DSN [STEP]`.

It takes what is in the queue `orders`, two at a time, inserts each into the table `orders`, says so
in the queue `done`, all in one unit, and ends when there is no more. With a STEP it stops there the
first time it comes by: it says `at STEP` and waits for a line. Steps are the calls of a unit to the
queue manager and the database, `before commit` and `after commit` and so on.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import psycopg

import openmsmq
from openmsmq import Manager
from openmsmq.client._sync.remote import Remote
from openmsmq.client.address import Address
from openmsmq.client.backend import Work

COUNT = 2
PATIENCE = 60.0
STEPS = (
    *("after begin", "after tpc_begin", "after receive", "after insert", "before tpc_prepare"),
    *("after tpc_prepare", "after decide", "after tpc_commit", "before finish", "after finish"),
)
"In the order in which a unit comes by."


def say(text: str) -> None:
    """Tell the parent, at once."""
    os.write(1, f"{text}\n".encode())


class Steps:
    """Where the program is."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def __call__(self, name: str) -> None:
        """The program comes by a step."""
        if name == self._wanted:
            self._wanted = ""
            say(f"at {name}")
            sys.stdin.readline()


step = Steps("")


class Line(Remote):
    """A connection to the manager that stops at steps."""

    def begin(self, xid: str, *, stage: bool) -> Any:
        found = super().begin(xid, stage=stage)
        step("after begin")
        return found

    def commit(self, work: Work, participants: Any = ()) -> None:
        super().commit(work, participants)
        step("after decide")

    def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        step("before finish")
        super().finish_unit(xid, confirmed)
        step("after finish")


class Database(psycopg.Connection[Any]):
    """A connection to the database that stops at steps."""

    def tpc_begin(self, xid: Any) -> None:
        super().tpc_begin(xid)
        step("after tpc_begin")

    def tpc_prepare(self) -> None:
        step("before tpc_prepare")
        super().tpc_prepare()
        step("after tpc_prepare")

    def tpc_commit(self, xid: Any = None) -> None:
        super().tpc_commit(xid)
        if xid is None:
            step("after tpc_commit")


def buy(manager: Manager, connection: Database) -> int:
    """One unit; how many orders it had."""
    orders, done = manager.open_queue("orders"), manager.open_queue("done")
    with openmsmq.distributed(manager, connection, patience=5) as unit:
        found = orders.receive_many(COUNT, timeout=0, transaction=unit)
        step("after receive")
        for order in found:
            connection.execute("insert into orders values (%s)", [order.text])
            done.send(str(order.text), transaction=unit)
        step("after insert")
    return len(found)


def main() -> None:
    """Work until there is no more, whatever happens to others."""
    global step
    address, dsn, *wanted = sys.argv[1:]
    step = Steps(*wanted or [""])
    manager = Manager(Line(Address.parse(address), patience=PATIENCE, reconnect=PATIENCE))
    manager.backend.connect()  # type: ignore[attr-defined]  # not yet part of what all can do
    connection: Database | None = None
    while True:
        try:
            if connection is None or connection.closed:
                connection = Database.connect(dsn)
            if not buy(manager, connection):
                break
        except (openmsmq.MQError, psycopg.Error) as error:
            say(f"error {type(error).__name__}: {error}".replace("\n", " "))
            if connection is not None:
                connection.close()
    say("done")


if __name__ == "__main__":
    main()
