"""The archive for the workers of a cluster."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import openmsmq
from openmsmq.spark.package import PARTS, write_package


def test_the_archive_has_the_client_and_no_server(tmp_path: Path) -> None:
    count = write_package(tmp_path / "a.zip")
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert len(names) == count
    assert {"openmsmq/__init__.py", "openmsmq/spark/source.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)
    parts = {name.split("/")[1].removesuffix(".py") for name in names}
    assert parts == PARTS | {"__init__", "store"}


def test_all_that_a_worker_runs_can_be_imported_from_the_archive_alone(tmp_path: Path) -> None:
    """The modules of the engine are not there, and none of them is needed."""
    write_package(tmp_path / "a.zip")
    program = (
        "import importlib, pkgutil, sys; sys.path.insert(0, sys.argv[1])\n"
        "import openmsmq\n"
        "for package in ('spark', 'pipelines', 'client._sync'):\n"
        "    found = importlib.import_module(f'openmsmq.{package}')\n"
        "    for one in pkgutil.walk_packages(found.__path__, f'{found.__name__}.'):\n"
        "        importlib.import_module(one.name)\n"
        "import openmsmq.client.remote_read._sync.backend\n"
        "for name in openmsmq.__all__:\n"
        "    getattr(openmsmq, name)\n"
        "print(openmsmq.__file__)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.zip")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(str(tmp_path)), done.stderr


def test_the_same_sources_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        write_package(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]


def test_it_works_with_nothing_else_and_can_be_made_of_itself(tmp_path: Path) -> None:
    """`-S` leaves out all that is installed, ours too."""
    write_package(tmp_path / "a.zip")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "import openmsmq\n"
        "from openmsmq.spark.package import write_package\n"
        "write_package(Path(sys.argv[2]))\n"
        "print(openmsmq.__file__)\n"
        "openmsmq.connect\n"
    )
    arguments = [str(tmp_path / "a.zip"), str(tmp_path / "b.zip")]
    command = [sys.executable, "-S", "-E", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path / "a.zip"))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_workers_need_no_more_than_pyarrow_and_lxml(tmp_path: Path) -> None:
    write_package(tmp_path / "a.zip")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "others = 'lmdb sortedcontainers prometheus_client aiohttp click rich uvloop'\n"
        "sys.modules.update(dict.fromkeys(others.split()))\n"
        "import openmsmq, openmsmq.spark.source, openmsmq.spark.functions\n"
        "try:\n"
        "    openmsmq.connect('127.0.0.1:1')\n"
        "except openmsmq.MQError as error:\n"
        "    print(type(error).__name__, openmsmq.__file__)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.zip")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"ServiceNotAvailable {tmp_path}")


def test_nothing_that_is_not_python_is_needed() -> None:
    home = Path(openmsmq.__file__).parent
    files = [path for part in PARTS for path in (home / part).rglob("*") if path.is_file()]
    assert {path.suffix for path in files} - {".pyc"} == {".py"}
