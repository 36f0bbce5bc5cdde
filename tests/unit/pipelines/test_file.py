"""Files of pipelines: what they say, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError

FILE = """
trigger = 5
master = "spark://10.0.0.1:7077"
checkpoint = "state"
[spark]
"spark.executor.memory" = "2g"
[source]
managers = ["shop01:1811", "shop02:1811"]
queue = ["orders", 'private$\\bills*']
token_file = "token"
on_commit = "move:archive"
resume = true
max_messages_per_trigger = 1000
[transform]
sql = "select label from source"
[sink]
kind = "console"
"""
SOURCE = {"queue": "orders"}
SINK = {"kind": "console"}


def test_a_file_with_every_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lake.toml"
    path.write_text(FILE)
    found = read_pipeline(path)
    assert (found.name, found.kind, found.trigger) == ("lake", "sink", 5)
    assert found.master == "spark://10.0.0.1:7077"
    assert found.checkpoint == tmp_path / "state"
    assert found.spark == {"spark.executor.memory": "2g"}
    assert found.transform.sql == "select label from source"
    assert found.source is not None
    assert found.source.options() == {
        "managers": "shop01:1811,shop02:1811",
        "tokenFile": str(tmp_path / "token"),
        "timeout": "30",
        "queue": r"orders,private$\bills*",
        "subscription": "spark",
        "onCommit": "move:archive",
        "resume": "true",
        "maxMessagesPerTrigger": "1000",
    }


def test_a_short_file_gets_the_defaults(
    pipeline: Callable[..., Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENMSMQ_MANAGER", "shop03:1811")
    found = pipeline(source=SOURCE, archive={"path": "lake"})
    assert found.checkpoint == Path.cwd() / "lake" / "checkpoint"
    assert (found.trigger, found.master) == ("available-now", "local[*]")
    assert found.source is not None
    assert found.source.place.managers == ("shop03:1811",)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"source": SOURCE}, "One of these tables is needed: [sink], [archive]"),
        ({"source": SOURCE, "arcive": {}}, "did you mean 'archive'?"),
        ({"sink": SINK, "archive": {}}, "the file has [sink], [archive]: one of them"),
        ({"source": SOURCE, "sink": SINK}, "checkpoint is missing: a folder where Spark"),
        ({"source": SOURCE, "sink": SINK, "checkpiont": "x"}, "checkpoint is missing"),
        ({"source": {"queue": []}, "sink": SINK}, "source.queue is an empty list"),
        ({"source": {**SOURCE, "on_commit": "kep"}, "sink": SINK}, "did you mean 'keep'?"),
        ({"source": {**SOURCE, "columns": ["lable"]}, "sink": SINK}, "did you mean 'label'?"),
        ({"source": {**SOURCE, "manager": "a:b:c"}, "sink": SINK}, "source.manager"),
        ({"source": {**SOURCE, "manager": "a:1", "managers": ["b:1"]}}, "[sink]"),
        ({"name": "a/b", "sink": SINK}, "name is 'a/b'"),
        ({"trigger": "availablenow"}, "did you mean 'available-now'?"),
        ({"trigger": 0}, "trigger is 0"),
        ({"transform": {"sql": "x", "python": "a:b"}}, "transform.sql or transform.python"),
        ({"transform": {"python": "a.b.c"}}, "module:function is needed"),
        ({"spark": {"a": True}}, "spark must be a table of texts"),
        ({"sink": {"kind": "parqet", "path": "x"}}, "did you mean 'parquet'?"),
        ({"sink": {"kind": "console", "path": "x"}}, "no key 'path' in [sink]"),
        ({"mster": "local"}, "no key 'mster'; did you mean 'master'?"),
    ],
)
def test_an_error_says_what_is_wrong_with_a_file(
    pipeline: Callable[..., Pipeline], document: dict[str, Any], words: str
) -> None:
    if not {"source", "archive"} & document.keys():
        document = {"source": SOURCE, "sink": SINK, "checkpoint": "c", **document}
    with pytest.raises(PipelineFileError) as caught:
        pipeline(**document)
    assert words in str(caught.value)


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    with pytest.raises(PipelineFileError, match=r"x.toml: No such file"):
        read_pipeline(path)
    path.write_text("name = \nx = 1")
    with pytest.raises(PipelineFileError, match=r"x.toml: .*line 1"):
        read_pipeline(path)
