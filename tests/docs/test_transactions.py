"""The examples of the page on transactions, with a real database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.generate_docs import ROOT
from tools.postgres import Postgres

import openmsmq
from tests.docs.console import PAGES, blocks
from tests.postgres import postgres as postgres  # a fixture
from tests.unit.client.services import Service

PAGE = ROOT / "docs" / "transactions.md"


@pytest.mark.slow
def test_the_examples_with_a_database_run(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order: one goes on where the other has ended."""
    service = Service(tmp_path / "served")
    connect = openmsmq.connect
    monkeypatch.setattr(openmsmq, "connect", lambda _: connect(service.address))
    monkeypatch.chdir(tmp_path)
    for name, value in postgres.environment.items():
        monkeypatch.setenv(name, value)
    try:
        for text in blocks(PAGE, "python"):
            if "psycopg" in text:
                exec(compile(text, PAGE, "exec"), {})
        with connect(service.address) as manager:
            assert (manager.units(), manager.prepared()) == ([], [])
    finally:
        service.close()


def test_no_other_page_has_such_examples() -> None:
    found = [page for page in PAGES if any("psycopg" in text for text in blocks(page, "python"))]
    assert found == [PAGE]
