"""What travels to a cluster; tests/spark/test_cluster.py has one."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import cast

import pytest
from pyspark import SparkContext

from openmsmq.pipelines.cluster import PACKAGE, is_local, send_along
from openmsmq.pipelines.spec import Pipeline, Transform


class Context:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def addPyFile(self, path: str) -> None:
        self.files.append(path)


def sent(folder: Path, master: str, python: str = "") -> list[str]:
    context = Context()
    transform = Transform(python=python)
    pipeline = Pipeline("p", "sink", None, folder, master=master, transform=transform)
    send_along(cast(SparkContext, context), pipeline, folder)
    return context.files


def test_a_cluster_gets_the_connector(tmp_path: Path) -> None:
    assert sent(tmp_path, "spark://host:7077") == [str(tmp_path / PACKAGE)]
    assert "openmsmq/spark/source.py" in zipfile.ZipFile(tmp_path / PACKAGE).namelist()


def test_the_module_of_a_transform_beside_the_file_goes_along(tmp_path: Path) -> None:
    (tmp_path / "prices.py").touch()
    assert sent(tmp_path, "yarn", "prices:convert")[1:] == [str(tmp_path / "prices.py")]
    assert sent(tmp_path, "yarn", "installed.elsewhere:convert")[1:] == []


@pytest.mark.parametrize("master", ["local", "local[*]", "local-cluster[2,1,1024]"])
def test_on_this_computer_nothing_travels(tmp_path: Path, master: str) -> None:
    assert is_local(master)
    assert sent(tmp_path, master) == []
