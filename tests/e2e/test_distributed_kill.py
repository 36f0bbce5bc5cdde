"""Program, manager and database are killed at each step of a unit: queue and table agree.

The program is a process that stops at a step and says so; then one of the three is killed. What is
killed is started again, someone recovers (the next program by itself, or `openmsmq transaction
recover`), and everything is looked at: each order is in the queue or in the table, by its name, and
no lock is left, neither in the queue manager nor in the database.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

import psycopg
import pytest
from tools.generate_docs import ROOT
from tools.postgres import Postgres

import openmsmq
from tests.e2e.buyer import STEPS
from tests.e2e.managers import PATIENCE, ManagerProcess, running, until
from tests.postgres import postgres as postgres  # a fixture

ORDERS = [f"order {number}" for number in range(7)]
VICTIMS = ("program", "manager", "database")
RECOVER = ("by the next program", "by command")
QUICK = (*STEPS[4:8],)
"With each victim, twelve kills that are in `make test`."


def marked(victim: str, step: str, how: str) -> object:
    """All sixty: a few for every day, the others where someone waits for them."""
    is_quick = step in QUICK and how == RECOVER[(STEPS.index(step) + VICTIMS.index(victim)) % 2]
    mark = pytest.mark.slow if is_quick else pytest.mark.torture
    return pytest.param(victim, step, how, marks=mark, id=f"{victim} {step}, recovered {how}")


CASES = [marked(*case) for case in product(VICTIMS, STEPS, RECOVER)]
assert len(CASES) == 60


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    """A service that is killed and started again."""
    made = ManagerProcess(tmp_path_factory.mktemp("m"), "shop01", options=["--binary-port", "off"])
    with running(made):
        yield made


class Shop:
    """Orders in a queue, and an empty table."""

    def __init__(self, manager: ManagerProcess, postgres: Postgres) -> None:
        self.manager = manager
        self.postgres = postgres
        with manager.connect() as there, psycopg.connect(postgres.dsn) as database:
            for name in ("orders", "done"):
                with contextlib.suppress(openmsmq.MQError):
                    there.delete_queue(name)
                there.create_queue(name, transactional=True)
            with there.transaction() as transaction:
                there.open_queue("orders").send_many(ORDERS, transaction=transaction)
            database.execute("drop table if exists orders")
            database.execute("create table orders (name text primary key)")

    @contextlib.contextmanager
    def program(self, step: str = "") -> Iterator[subprocess.Popen[str]]:
        """A program that writes orders to the table, up to a step."""
        command = [sys.executable, "-m", "tests.e2e.buyer", self.manager.app, self.postgres.dsn]
        with subprocess.Popen(
            [*command, step], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as program:
            try:
                yield program
            finally:
                program.kill()

    def kill(self, victim: str, program: subprocess.Popen[str]) -> None:
        """Kill one of the three, and start it again."""
        if victim == "program":
            program.kill()
            program.wait(PATIENCE)
        elif victim == "manager":
            self.manager.kill()
            self.manager.start()
        else:
            self.postgres.kill()
            self.postgres.start()

    def names(self) -> tuple[list[str], list[str], list[str]]:
        """The orders in the queue, in the table, and those that were said to be done."""
        with self.manager.connect() as there, psycopg.connect(self.postgres.dsn) as database:
            orders, done = (
                [str(m.text) for m in there.open_queue(name).peek_many(100, timeout=0)]
                for name in ("orders", "done")
            )
            rows = database.execute("select name from orders order by name").fetchall()
        return orders, [str(name) for (name,) in rows], sorted(done)

    def check(self) -> None:
        """Queue and table agree, and nothing is locked."""
        orders, rows, done = self.names()
        assert sorted(orders + rows) == ORDERS, "each order is in one of them, once"
        assert rows == done, "what is in the table was said to be done"
        with self.manager.connect() as there, psycopg.connect(self.postgres.dsn) as database:
            assert (there.prepared(), there.units()) == ([], [])
            prepared = database.execute("select gid from pg_prepared_xacts").fetchall()
            assert prepared == []
            held = database.execute(
                "select mode from pg_locks where relation = 'orders'::regclass"
            ).fetchall()
            assert held == []

    def recover(self) -> str:
        """What the command says."""
        command = [sys.executable, "-m", "openmsmq", "transaction", "recover"]
        place = ["--manager", self.manager.app, "--database", self.postgres.dsn]
        done = subprocess.run([*command, *place], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def finish(program: subprocess.Popen[str]) -> list[str]:
    """Let a program go on to its end; what it said."""
    said, _ = program.communicate("go on\n", PATIENCE)
    assert said.splitlines()[-1] == "done", said
    assert program.wait(PATIENCE) == 0
    return said.splitlines()


@pytest.mark.parametrize(("victim", "step", "how"), CASES)
def test_queue_and_table_agree_after_a_kill(
    manager: ManagerProcess, postgres: Postgres, victim: str, step: str, how: str
) -> None:
    """SYS-018, SYS-087, SYS-088, SYS-091."""
    shop = Shop(manager, postgres)
    with shop.program(step) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == f"at {step}\n"
        shop.kill(victim, program)
        if victim != "program":
            finish(program)
    until(lambda: _is_seen_gone(shop), "the manager did not see that the program is gone")
    if how == "by command":
        shop.recover()
        shop.check()
    with shop.program() as program:
        finish(program)
    assert shop.names() == ([], ORDERS, ORDERS)
    shop.check()


def _is_seen_gone(shop: Shop) -> bool:
    """No program is active on a unit any more."""
    with shop.manager.connect() as there, psycopg.connect(shop.postgres.dsn) as database:
        xids = [xid.gtrid for xid in database.tpc_recover()]
        states = there.backend.unit_states([xid for xid in xids if xid.startswith("unit:")])
        return not {"active", "committing"} & set(states.values())
