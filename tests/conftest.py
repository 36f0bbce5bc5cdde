"""Settings of the test run."""

from __future__ import annotations

import gc
import os
import signal
import ssl
from collections.abc import Generator
from pathlib import Path
from shutil import disk_usage

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from openmsmq.runtime import startup as opening
from tests import java
from tests.quick import EXAMPLES, QUICK

SPARK = "tests/spark/"
ALONE = (
    *("test_cluster.py", "test_pipeline_process.py"),
    "test_tokens.py::test_a_token_is_shown_nowhere",
    "test_same_rows.py::test_a_batch_is_the_same_when_others_interfere",
)
"Tests of Spark that start sessions of their own, or need none."
DEMO = "tests/e2e/test_demo.py"
TABLES = tuple(
    f"{SPARK}test_tables.py::test_{name}" for name in ("a_table", "a_kill", "two_writers")
)
"Tests of tables that need no session, but a store of objects."
ONE_BY_ONE = (
    *("tests/e2e/", "tests/simulation/", "tests/tools/"),
    *("tests/property/test_crashes.py", "tests/property/test_queues.py"),
)
"Folders and files of tests that take seconds each."
TOGETHER = tuple(
    f"tests/e2e/test_{name}.py"
    for name in (
        *("access", "console", "damage", "distributed_kill", "frames", "http", "http_hostile"),
        *("management_clients", "message_security", "power_loss", "remote_read_clients"),
        "transfer",
    )
)
"Files among them whose tests share a manager."
LONGEST = (
    *(SPARK, DEMO, "tests/package/", "tests/tools/test_rules.py"),
    *("tests/e2e/test_console.py", "tests/e2e/", "tests/simulation/", "tests/property/"),
)
"What takes longest begins first, so that nothing waits for it in the end."

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("default"), max_examples=5000)
settings.register_profile(QUICK, settings.get_profile("default"), max_examples=EXAMPLES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

os.environ.setdefault("JDK_JAVA_OPTIONS", java.options())

# Tests make thousands of stores, and pytest keeps those of the last runs.
setattr(opening, "BALLAST_SIZE", 0)  # noqa: B010  # it is a constant to everybody else

# They sync thousands of times, which takes no time in memory; a kill leaves the same behind.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and disk_usage(MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# A run in the background may have been started with it ignored, and would hand that on to the
# processes that tests start: some interrupt those, or themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


MAKE_CONTEXT = ssl.create_default_context
"Some packages replace it when they are imported, so that certificates are not checked any longer."


class OneSession(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives the tests that share a session of Spark to one worker.

    Those that start their own go to another, one after the other: with four Javas on two cores,
    Spark gives up its Python workers. All others go by files, since to hand out a test takes longer
    than most take; long ones by one.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(TABLES):
            return nodeid.partition("::")[0]
        if nodeid.startswith(SPARK):
            return DEMO if nodeid[len(SPARK) :].startswith(ALONE) else SPARK
        if nodeid.startswith(ONE_BY_ONE) and not nodeid.startswith((DEMO, *TOGETHER)):
            return nodeid
        return nodeid.partition("::")[0]


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: half of the time, tests wait for processes and timers."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of every later pass of the garbage collector."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests by how long their like take."""

    def place(item: pytest.Item) -> int:
        likes = (at for at, like in enumerate(LONGEST) if item.nodeid.startswith(like))
        return next(likes, len(LONGEST))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """A test that leaves TLS without checks is at fault, not the tests of TLS that follow it."""
    yield
    if ssl.create_default_context is not MAKE_CONTEXT:
        setattr(ssl, "create_default_context", MAKE_CONTEXT)  # noqa: B010  # a function to mypy
        pytest.fail(f"{item.nodeid} has replaced ssl.create_default_context, by an import perhaps")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSession:
    """Who gets which test."""
    config.option.loadscopereorder = False  # it would put single tests last
    return OneSession(config, log)
