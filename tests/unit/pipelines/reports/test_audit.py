"""What an audit is given; tests/spark/test_reports.py runs one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openmsmq.pipelines.reports.audit import SLOWEST, _check_replaceable, read_settings
from openmsmq.pipelines.tables import PipelineFileError, TomlTable


def settings(**values: Any) -> TomlTable:
    return TomlTable("audit", {"report": "page.html", **values}, Path("/here"))


def test_each_manager_tells_what_its_queues_know() -> None:
    first = {"manager": "shop:1811", "messages": ".\\Journal$", "acknowledgements": "admin"}
    second = {"managers": ["a:1", "b:1"], "reports": ["traces"]}
    found = read_settings(settings(read=[first, second], table="t"))
    assert [one.queues for one in found.witnesses] == [(".\\Journal$", "admin"), ("traces",)]
    assert found.witnesses[1].place.managers == ("a:1", "b:1")
    assert (found.table, found.listed) == (Path("/here/t"), SLOWEST)
    assert read_settings(settings(read=[first])).table is None


def test_without_queues_there_is_nothing_to_read() -> None:
    with pytest.raises(PipelineFileError, match=r"audit\.read is missing"):
        read_settings(settings())
    with pytest.raises(PipelineFileError, match="name the queues"):
        read_settings(settings(read=[{"manager": "here:1"}]))


def test_only_a_table_of_an_audit_is_replaced(tmp_path: Path) -> None:
    for name in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS", "._SUCCESS.crc"):
        (tmp_path / name).touch()
    _check_replaceable(tmp_path)
    with pytest.raises(PipelineFileError, match="is a file"):
        _check_replaceable(tmp_path / "_SUCCESS")
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(PipelineFileError, match=r"thesis\.doc"):
        _check_replaceable(tmp_path)
