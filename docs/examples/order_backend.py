"""The back end of web order entry: from a queue of another computer to rows of PostgreSQL.

Every order becomes one row, whatever crashes when: a receive belongs to a transaction of the queue
manager there, and the row is written together with the id of its message (`openmsmq.Inbox`).
Usage: order_backend.py HOST PORT USER PASSWORD-FILE DSN SECONDS
"""

import sys
from pathlib import Path

import psycopg

import openmsmq


def main() -> None:
    """Work until no order came for some seconds."""
    host, port, user, password_file, dsn, seconds = sys.argv[1:]
    password = Path(password_file).read_text(encoding="utf-8").strip()
    database = psycopg.connect(dsn)
    inbox = openmsmq.Inbox(database)
    place = {"port": int(port), "computer": "intermediary"}
    with openmsmq.connect_remote(host, user=user, password=password, **place) as manager:
        orders = manager.open_queue("orders")
        while True:
            with manager.transaction() as transaction:
                try:
                    order = orders.receive(timeout=float(seconds), transaction=transaction)
                except openmsmq.ReceiveTimeout:
                    return
                with inbox.process(order) as is_new:  # commits the database
                    if is_new:
                        write = "INSERT INTO orders (number, text) VALUES (%s, %s)"
                        database.execute(write, (order.label, order.text))
            print(order.label, flush=True)  # noqa: T201  # here it is committed in the queue, too


if __name__ == "__main__":
    main()
