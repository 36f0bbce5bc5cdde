"""The demonstration from beginning to end."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from openmsmq.demo.counts import Count, count_all
from openmsmq.demo.lake import Lake, OrdersTable
from openmsmq.demo.managers import Managers
from openmsmq.demo.orders import KILLED, Moment, OrderTransfer
from openmsmq.demo.show import Screen, reading_view, transfer_view
from openmsmq.pipelines.faults import PipelineError, in_words
from openmsmq.pipelines.reports.charts import lines
from openmsmq.pipelines.session import check_installed

ORDERS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended."""

    counts: list[Count]
    moments: list[Moment]

    def drawing(self) -> str:
        """The orders over time, as SVG."""
        dead = [moment.seconds for moment in self.moments if moment.state == KILLED]
        curves = {
            "sent": [(moment.seconds, float(moment.sent)) for moment in self.moments],
            "arrived": [(moment.seconds, float(moment.arrived)) for moment in self.moments],
        }
        return lines(
            "Orders, while the office was killed", curves, x_unit="s", shaded=(dead[0], dead[-1])
        )


class Play:
    """Two queue managers, orders, a crash, and Spark."""

    def __init__(self, screen: Screen, count: int, *, keep: bool) -> None:
        check_installed()
        self.folder = Path(mkdtemp(prefix="openmsmq-demo-"))
        self.managers = Managers(self.folder)
        self._screen = screen
        self._count = count
        self._keep = keep
        self._done = False

    def __enter__(self) -> Play:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._keep and self._done:
            return
        self.managers.stop()
        if kind is None or not issubclass(kind, Exception):
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self._screen.say(f"it went wrong; logs are in {self.folder}", "red")

    def run(self) -> Outcome:
        """All steps."""
        self._start()
        transfer = self._transfer()
        table = self._spark()
        counts = count_all(self.managers, self._count, transfer.sent, table)
        self._done = True
        return Outcome(counts, transfer.moments)

    def _start(self) -> None:
        with self._screen.step("start two queue managers"):
            self.managers.start()
            with self.managers.office.connect() as office:
                office.create_queue("orders", transactional=True)
                office.create_queue("invoices", transactional=True)
        for one in (self.managers.shop, self.managers.office):
            self._screen.detail(f"{one.name} at {one.address}, process {one.pid}")

    def _transfer(self) -> OrderTransfer:
        title = f"send {self._count:,} orders from the shop to the office, and kill it half-way"
        transfer = OrderTransfer(self.managers, self._count)
        killed = self.managers.office.pid
        with self._screen.step(title) as update:
            transfer.run(lambda moment: update(transfer_view(self._count, moment)))
        self._screen.detail("in transactions, over MSMQ's binary protocol: exactly once, in order")
        again = self.managers.office.pid
        self._screen.detail(f"process {killed} was killed (SIGKILL), process {again} took over")
        return transfer

    def _spark(self) -> OrdersTable:
        from pyspark.errors import PySparkException  # not at the top: it may not be there

        folder = self.folder / "spark"
        folder.mkdir()
        try:
            with self._screen.step("start Spark"):
                lake = Lake(folder, self.managers.office.address)
            try:
                return self._work(lake)
            finally:
                lake.close()
        except PySparkException as error:
            raise PipelineError(in_words(error)) from error

    def _work(self, lake: Lake) -> OrdersTable:
        with self._screen.step("read the queue into a table, in batches") as update:
            lake.read_orders(self._count, lambda done: update(reading_view(self._count, done)))
        with self._screen.step("sum up the table and send an invoice to each customer"):
            lake.send_invoices()
        with self._screen.step("count everything"):
            return lake.table()
