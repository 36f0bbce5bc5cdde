"""After the demonstration, with `--keep`: orders go on, and a console shows them."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

import openmsmq
from openmsmq import Access, Manager
from openmsmq.demo.managers import PATIENCE, Managers
from openmsmq.demo.orders import Order
from openmsmq.errors import ServiceNotAvailable

_ANNOUNCED: Final = "console at "
_PAUSE: Final = 0.25
_TOGETHER: Final = 3
"Orders that are sent at once."
_FORGOTTEN: Final = 20
"Each such order goes to a queue that no one reads, and expires there."
_LIFETIME: Final = 10
_ORDERS: Final = r"DIRECT=OS:office\private$\orders"
_RETURNS: Final = r"DIRECT=OS:office\private$\returns"


class LiveShow:
    """A console, and a program that sends and receives orders, in processes of their own."""

    def __init__(self, folder: Path, managers: Managers) -> None:
        self._folder = folder
        self._managers = managers
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pids(self) -> list[int]:
        """The processes."""
        return [process.pid for process in self._processes]

    def start(self) -> str:
        """Run both; the answer is a link that logs in at the console, once."""
        shop, office = self._managers.shop, self._managers.office
        places = [f"{one.name}={one.address}" for one in (shop, office)]
        named = [word for place in places for word in ("--manager", place)]
        said = self._run("console", "openmsmq", "console", "--port", "0", *named)
        self._run("traffic", "openmsmq.demo.live", shop.address, office.address)
        end = time.monotonic() + PATIENCE
        while _ANNOUNCED not in (text := said.read_text(errors="replace")) or "\n" not in text:
            if self._processes[0].poll() is not None or time.monotonic() > end:
                raise ServiceNotAvailable(f"the console: {text.strip() or 'it did not start'}")
            time.sleep(0.02)
        return text.partition(_ANNOUNCED)[2].split()[0]

    def stop(self) -> None:
        """End both."""
        for process in self._processes:
            process.terminate()
            process.wait(PATIENCE)

    def _run(self, name: str, module: str, *arguments: str) -> Path:
        """Run a module; the answer is where it prints."""
        said = self._folder / f"{name}.log"
        with said.open("wb") as log:
            self._processes.append(
                subprocess.Popen(  # noqa: S603  # our own program
                    [sys.executable, "-u", "-m", module, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return said


def go_on(shop: Manager, office: Manager, turns: int | None = None) -> None:
    """Send some orders at a time, and receive most of them; for ever, unless `turns` says when."""
    orders = shop.open_queue(_ORDERS, access=Access.SEND)
    returns = shop.open_queue(_RETURNS, access=Access.SEND)
    received = office.open_queue("orders")
    office.create_queue("returns", exist_ok=True)
    numbers = count(1)
    for turn in count():
        if turn == turns:
            return
        with shop.transaction() as work:
            orders.send_many(
                [Order(next(numbers)).message() for _ in range(_TOGETHER)], transaction=work
            )
        if turn % _FORGOTTEN == 0:
            returns.send(
                "this goes to a queue that no one reads",
                label=f"return {turn}",
                time_to_be_received=_LIFETIME,
                dead_letter=True,
            )
        with office.transaction() as work:
            received.receive_many(_TOGETHER, timeout=0, transaction=work)
        time.sleep(_PAUSE)


def main() -> None:
    """`python -m openmsmq.demo.live SHOP OFFICE`: until it is ended, or a manager is."""
    shop, office = (openmsmq.connect(place, timeout=PATIENCE) for place in sys.argv[1:3])
    with suppress(KeyboardInterrupt):
        go_on(shop, office)


if __name__ == "__main__":
    main()
