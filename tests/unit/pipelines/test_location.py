"""Where archives lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.pipelines.location import DataFolder, endpoint, region


def test_a_folder_and_a_place_in_an_object_store(tmp_path: Path) -> None:
    here, there = DataFolder(str(tmp_path)), DataFolder("s3://lake/x")
    assert (here.is_local, there.is_local) == (True, False)
    assert (here / "data").path == tmp_path / "data"
    assert str(there / "data") == "s3://lake/x/data"
    assert (here.full, there.full) == (f"file://{tmp_path}", "s3://lake/x")
    system, path = here.filesystem()
    assert (system.type_name, path) == ("local", str(tmp_path))


def test_the_environment_says_where_s3_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert (endpoint(), region()) == ("", "")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert (endpoint(), region()) == ("http://127.0.0.1:1", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    assert endpoint() == "http://127.0.0.1:2"
    system, path = DataFolder("s3://lake/x").filesystem()
    assert (system.type_name, path) == ("s3", "lake/x")
