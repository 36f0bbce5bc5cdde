"""The files of pipelines in the pages say what can be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.kinds import KINDS
from tests.docs.console import PAGES, blocks

FILES = [
    pytest.param(text, id=f"{page.name}-{number}")
    for page in PAGES
    for number, text in enumerate(blocks(page, "toml"), 1)
    if tomllib.loads(text).keys() & KINDS.keys()
]


def test_there_are_some() -> None:
    assert len(FILES) >= 2


@pytest.mark.parametrize("text", FILES)
def test_a_file_is_understood(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(text)
    assert read_pipeline(path).kind in KINDS
