"""Streams over HTTP between two managers that are killed, through a proxy that does harm."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from openmsmq import Manager
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.managers import PATIENCE, ManagerProcess, free_port, running, until

pytestmark = pytest.mark.slow
BATCH = 20


def receive_all(far: ManagerProcess, count: int) -> list[int]:
    """Receive what arrives, until all have come or nothing comes for long."""
    found: list[int] = []
    with far.connect() as manager:
        queue = manager.open_queue("ordered")
        while len(found) < count:
            found.append(int(queue.receive(timeout=PATIENCE).text or ""))
    return found


def send_all(manager: Manager, url: str, count: int) -> None:
    """Send numbers in transactions; one that was interrupted is made again by its identifiers."""
    queue = manager.open_queue(f"DIRECT={url}")
    for start in range(0, count, BATCH):
        with manager.transaction() as transaction:
            for number in range(start, min(start + BATCH, count)):
                queue.send(str(number), transaction=transaction)


def run(folder: Path, *, messages: int, kills: int, seed: int) -> None:
    """Kill both managers and the proxy while a stream is under way."""
    chance = random.Random(seed)
    proxy = FaultProxy(seed)
    proxy.start()
    options = ["--srmp-proxy", f"http://127.0.0.1:{proxy.port}"]
    near, far = (
        ManagerProcess(folder, name, options=["--srmp-port", str(free_port()), *options])
        for name in ("a", "b")
    )
    with running(near, far), near.connect() as a, far.connect() as b:
        b.create_queue("ordered", transactional=True)
        host, port = far.ready["srmp"]
        url = f"http://{host}:{port}/msmq/private$/ordered"
        near_queue = f"direct={url}".lower()
        send_all(a, url, messages)
        for _ in range(kills):
            time.sleep(chance.uniform(0.2, 1.2))
            match chance.randrange(3):
                case 0:
                    near.kill()
                    near.start()
                case 1:
                    far.kill()
                    far.start()
                case _:
                    proxy.kill()
                    time.sleep(0.2)
                    proxy.start()
        found = receive_all(far, messages)

        def is_done() -> bool:
            infos = [one for one in a.outgoing() if one.name.lower() == near_queue]
            return not any(one.messages or one.unacknowledged for one in infos)

        until(is_done, "the sender never heard of some", PATIENCE * 2)
        assert found == list(range(messages))
        with b.open_queue("ordered").stream(timeout=0) as rest:
            assert list(rest) == []
    proxy.stop()
    assert len(proxy.faults) == 6, "every kind of fault has occurred"


def test_kills_and_a_harmful_proxy_neither_lose_nor_double_nor_reorder_messages(
    tmp_path: Path,
) -> None:
    """SRMP-096, SRMP-097, SRMP-293: five kills of either manager and of the proxy."""
    run(tmp_path, messages=400, kills=5, seed=1)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_30_kills_during_10000_messages(tmp_path: Path) -> None:
    """SRMP-096, SRMP-097."""
    run(tmp_path, messages=10_000, kills=30, seed=2)
