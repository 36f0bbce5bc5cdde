"""What a session needs, and what workers get."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from openmsmq.pipelines import session
from openmsmq.pipelines.faults import PipelineError


def test_java_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(PipelineError, match="Spark needs Java 17"):
        session.check_installed()
    monkeypatch.setenv("JAVA_HOME", "/java")
    session.check_installed()


def test_spark_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(PipelineError, match="pip install"):
        session.check_installed()


def test_workers_find_the_modules_of_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYTHONPATH", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    session._let_workers_find(Path("/files"))
    session._let_workers_find(Path("/files"))
    first, second = os.environ["PYTHONPATH"].split(os.pathsep)
    assert Path(first, "openmsmq", "pipelines").is_dir()
    assert second == "/files"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
