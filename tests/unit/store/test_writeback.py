"""The system begins to write what a file has in memory, where there is a call for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from openmsmq.store import writeback
from openmsmq.store.writeback import begin_writing


@pytest.fixture(autouse=True)
def _found_anew() -> Iterator[None]:
    call = writeback._call
    call.cache_clear()
    yield
    call.cache_clear()


def test_what_was_written_is_as_before(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"x" * 100_000)
        file.flush()
        begin_writing(file.fileno())
        file.seek(0)
        assert file.read() == b"x" * 100_000


def test_all_of_a_file_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(writeback, "_call", lambda: lambda *given: asked.append(given))
    begin_writing(7)
    assert asked == [(7, 0, 0, 2)], "from the beginning, to the end, without waiting"


@pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux")
def test_linux_takes_the_call(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        assert writeback._call()(file.fileno(), 0, 0, writeback._WRITE) == 0


@pytest.mark.parametrize("error", [ImportError, MemoryError, OSError, AttributeError])
def test_where_that_is_not_possible_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(_: str) -> ModuleType:
        raise error

    monkeypatch.setattr(writeback, "import_module", fail)
    begin_writing(-1)
