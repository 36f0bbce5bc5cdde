"""A client needs no server: neither its code nor what only the server's platform has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.services import Service

SERVER = ("access", "app_server", "capture", "engine", "runtime", "service", "store", "transports")
SYNC = """
import openmsmq
with openmsmq.connect({address!r}) as manager:
    queue = manager.create_queue("sync")
    queue.send(openmsmq.Message(b"hello"))
    assert queue.receive(timeout=10).body == b"hello"
    with queue.stream(timeout=0) as stream:
        assert not list(stream)
    assert queue.subscription("lake").reserve(0) == 0
    with manager.transaction() as transaction:
        pass
    manager.explain(queue.send(openmsmq.Message(b"x")))
    for name in openmsmq.__all__:
        getattr(openmsmq, name)
"""
ASYNC = """
import asyncio
from openmsmq import Message, aio
async def main():
    async with aio.connect({address!r}) as manager:
        queue = await manager.create_queue("async")
        await queue.send(Message(b"hello"))
        assert (await queue.receive(timeout=10)).body == b"hello"
asyncio.run(main())
"""
NO_SERVER = """
import sys
found = [name for name in sys.modules if name.startswith({prefixes!r}) or name == "lmdb"]
assert not found, found
"""
OTHER_PLATFORM = """
import sys, time
del time.CLOCK_MONOTONIC
if hasattr(time, "CLOCK_BOOTTIME"):
    del time.CLOCK_BOOTTIME
for name in ("fcntl", "grp", "lmdb", "pwd", "resource", "termios"):
    sys.modules[name] = None  # which cannot be imported
"""
CANNOT_OPEN = """
try:
    openmsmq.open("data")
except openmsmq.MQError as error:
    assert "fcntl" in str(error) and "openmsmq.connect()" in str(error), error
else:
    raise AssertionError("opened")
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service") / "data")
    yield made
    made.close()


def run(*parts: str) -> None:
    """Run a program in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", "".join(parts)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_client_of_a_service_loads_no_module_of_the_server(
    service: Service, program: str
) -> None:
    prefixes = tuple(f"openmsmq.{part}" for part in SERVER)
    run(program.format(address=service.address), NO_SERVER.format(prefixes=prefixes))


@pytest.mark.parametrize("program", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_client_works_where_the_platform_cannot_keep_queues(
    service: Service, program: str
) -> None:
    program = program.replace('"sync"', '"sync 2"').replace('"async"', '"async 2"')
    run(OTHER_PLATFORM, program.format(address=service.address))


def test_opening_a_directory_there_says_what_is_missing(tmp_path: Path) -> None:
    run(OTHER_PLATFORM, "import openmsmq", CANNOT_OPEN)


def test_a_spark_worker_loads_no_module_of_the_server(service: Service) -> None:
    """What it unpickles and runs: readers, writers, functions, and a connection."""
    prefixes = tuple(f"openmsmq.{part}" for part in SERVER)
    run(
        "import openmsmq.spark.functions, openmsmq.spark.source\n",
        "from openmsmq.spark.options import parse\n",
        "from openmsmq.spark.service import connect\n",
        f"options = parse({{'manager': {service.address!r}}}, ('manager',))\n",
        f"connect(options, {service.address!r}, patient=False).close()\n",
        NO_SERVER.format(prefixes=prefixes),
    )


BY_HAND = {
    "_sync/test_channel.py": "threads share a socket otherwise than tasks; the module is by hand",
    "_sync/test_manager.py": "threads and signals, which tasks have not; the rest runs with both",
    "dependent/_sync/test_backend.py": "runs with threads; the one in _async is about tasks",
    "management/_sync/test_management.py": "runs with threads; the one in _async is about tasks",
    "remote_read/_sync/test_backend.py": "runs with both; the one in _async is about tasks",
    "remote_read/_sync/test_tcp_socket.py": "a socket of a thread; the module is by hand",
}
"Why tests are here, though those in `_async` run with both APIs."


def test_tests_of_both_clients_are_written_once() -> None:
    folder = Path(__file__).parents[1] / "unit" / "client"
    found = {str(path.relative_to(folder)) for path in folder.rglob("_sync/test_*.py")}
    assert found == BY_HAND.keys()
