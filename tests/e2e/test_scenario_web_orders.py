"""Web order entry ([MS-MQSO] 6.1.2): web servers send, an intermediary holds, a back end reads.

Five managers and programs in processes of their own: two web servers with their managers, the
intermediary, and the back end of docs/examples, which is killed again and again.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from tools.generate_docs import ROOT
from tools.postgres import Postgres

import openmsmq
from openmsmq.access.users import Users
from openmsmq.errors import AccessDenied
from tests.e2e.managers import ManagerProcess, until
from tests.postgres import postgres as postgres  # a fixture

pytestmark = pytest.mark.slow

BACKEND = ROOT / "docs" / "examples" / "order_backend.py"
EACH, KILLS = 20, 2
ORDERS = r"DIRECT=OS:intermediary\private$\orders"


@pytest.fixture
def intermediary(tmp_path: Path) -> Iterator[ManagerProcess]:
    made = ManagerProcess(tmp_path, "intermediary", options=("--rpc-port", "0"))
    users = Users(made.folder / "data")
    users.add("backend", "secret", "read", ("orders",))
    users.add("web", "secret", "send", ("orders",))
    made.start()
    with openmsmq.connect(made.app) as manager:
        manager.create_queue("orders", transactional=True)
    yield made
    made.kill()


def test_every_order_is_written_once_whatever_is_killed(
    intermediary: ManagerProcess, postgres: Postgres, tmp_path: Path
) -> None:
    """SYS-069"""
    with psycopg.connect(postgres.dsn, autocommit=True) as database, ExitStack() as stack:
        database.execute("DROP TABLE IF EXISTS orders, openmsmq_inbox")
        database.execute("CREATE TABLE orders (number TEXT, text TEXT)")
        webs = []
        for name in ("web1", "web2"):
            peers = {"intermediary": intermediary.place}
            web = ManagerProcess(tmp_path, name, peers=peers).start()
            stack.callback(web.kill)
            webs.append(web)

        # The load is buffered while there is no back end.
        sent = {order for web in webs for order in send_orders(web)}
        password = tmp_path / "password"
        password.write_text("secret\n")
        where = list(map(str, intermediary.ready["rpc"]))
        command = [sys.executable, str(BACKEND), *where, "backend", str(password), postgres.dsn]

        crash_behind_the_database(intermediary, postgres.dsn)
        chance = random.Random(7)
        for _ in range(KILLS):
            backend = subprocess.Popen([*command, "20"], stdout=subprocess.PIPE)
            assert backend.stdout
            for _ in range(chance.randrange(1, 8)):
                backend.stdout.readline()
            time.sleep(chance.random() * 0.02)
            backend.kill()
            backend.wait(20)
            backend.stdout.close()
        subprocess.run([*command, "2"], check=True, timeout=120, stdout=subprocess.DEVNULL)

        rows = database.execute("SELECT number FROM orders").fetchall()
        assert sorted(number for (number,) in rows) == sorted(sent)
        with openmsmq.connect(intermediary.app) as manager:
            assert manager.open_queue("orders").info().messages == 0
        for web in webs:
            with openmsmq.connect(web.app) as manager:
                until(lambda seen=manager: not any(o.messages for o in seen.outgoing()))  # type: ignore[misc]


def test_accounts_have_their_own_rights(intermediary: ManagerProcess) -> None:
    """SYS-069: the web account can neither receive nor peek, and strangers can do nothing."""
    host, port = intermediary.ready["rpc"]
    for user, password in (("web", "secret"), ("backend", "wrong"), ("stranger", "secret")):
        place = {"port": port, "computer": "intermediary"}
        with (
            openmsmq.connect_remote(host, user=user, password=password, **place) as manager,
            pytest.raises(AccessDenied),
        ):
            manager.open_queue("orders")
    with openmsmq.connect_remote(
        host, user="backend", password="secret", port=port, computer="intermediary"
    ) as manager:
        manager.open_queue("orders").close()
        with pytest.raises(openmsmq.MQError):
            manager.open_queue("others")


def crash_behind_the_database(intermediary: ManagerProcess, dsn: str) -> None:
    """A back end that is gone when its row is committed and its receive is not."""
    host, port = intermediary.ready["rpc"]
    place = {"port": port, "computer": "intermediary"}
    with (
        psycopg.connect(dsn) as database,
        openmsmq.connect_remote(host, user="backend", password="secret", **place) as manager,
    ):
        inbox = openmsmq.Inbox(database)
        transaction = manager.transaction()
        orders = manager.open_queue("orders")
        order = orders.receive(timeout=20, transaction=transaction)
        with inbox.process(order) as is_new:
            assert is_new
            write = "INSERT INTO orders (number, text) VALUES (%s, %s)"
            database.execute(write, (order.label, order.text))


def send_orders(web: ManagerProcess) -> list[str]:
    """Orders of one web server, each in a transaction; an outgoing queue is made on demand."""
    names = [f"{web.name}-{number}" for number in range(EACH)]
    with openmsmq.connect(web.app) as manager:
        queue = manager.open_queue(ORDERS)
        for name in names:
            with manager.transaction() as transaction:
                queue.send(f"<order number='{name}'/>", label=name, transaction=transaction)
    return names
