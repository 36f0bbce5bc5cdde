"""What starts often starts quickly: it imports nothing that it does not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = (
    *("aiohttp", "lxml", "openmsmq.interfaces", "openmsmq.rpc"),
    *("openmsmq.bodies.decode", "openmsmq.soap.envelope"),
    *("openmsmq.transports.pgm.transport", "openmsmq.transports.srmp.transport"),
)
"Console, remote calls, multicast, HTTP and bodies: half of the time that a service needs to start."


def loaded(program: str) -> set[str]:
    """The modules that a process has imported at the end of a program."""
    text = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_service_imports_the_protocols_that_it_speaks() -> None:
    modules = loaded("import openmsmq.cli.serve")
    assert "openmsmq.transports.mqqb.listener" in modules
    assert not modules & set(OPTIONAL)


def test_the_command_line_imports_the_command_that_is_run() -> None:
    modules = loaded("import openmsmq.cli.main")
    assert not modules & {"asyncio", "lmdb", "rich", "openmsmq.engine", "openmsmq.store"}


@pytest.mark.parametrize("command", ["messages.send", "queue"])
def test_a_command_for_a_service_imports_neither_its_parts_nor_those_of_other_commands(
    command: str,
) -> None:
    modules = loaded(f"import openmsmq.cli.{command}, openmsmq.client._sync.remote")
    unused = {"lxml", "lmdb", "msgspec", "openmsmq.bodies.decode", "openmsmq.engine"}
    assert not modules & unused


def test_a_worker_of_spark_that_plans_imports_no_pandas() -> None:
    pytest.importorskip("pyspark")
    assert "pandas" not in loaded("import openmsmq.spark.source")


@pytest.mark.parametrize("command", ["demo", "pipelines.group"])
def test_commands_that_need_an_extra_show_their_help_without_it(command: str) -> None:
    """A package without extras has neither Spark nor Arrow: the command says so when it is run."""
    missing = "import sys\nfor name in ('pyarrow', 'pyspark'): sys.modules[name] = None\n"
    assert f"openmsmq.cli.{command}" in loaded(f"{missing}import openmsmq.cli.{command}")
