"""The examples of docs/remote-read.md run between real managers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq.access.users import Users
from tests.docs.console import blocks
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "remote-read.md"
CONNECTS, THROUGH = blocks(PAGE, "python")
_, SETTINGS = blocks(PAGE, "toml")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ManagerProcess]:
    made = ManagerProcess(tmp_path, "shop01", options=("--rpc-alternate-port", "0"))
    Users(made.folder / "data").add("backend", "...", "read")
    made.start()
    try:
        with openmsmq.connect(made.app) as manager:
            manager.create_queue("orders").send_many(["order 1", "order 2", "order 3"])
            billing = manager.create_queue("billing", transactional=True)
            with manager.transaction() as transaction:
                billing.send("invoice", transaction=transaction)
        yield made
    finally:
        made.kill()


def connect_to(manager: ManagerProcess, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a function of the package connect to a manager of the test, whatever host is named."""
    host, port = manager.ready["rpc_alternate"]
    connect = getattr(openmsmq, function)

    def connect_here(name: str, **given: Any) -> Any:
        return connect(host, port=port, computer=name, **given)

    monkeypatch.setattr(openmsmq, function, connect_here)


def test_a_program_connects_to_another_manager(
    shop: ManagerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_to(shop, "connect_remote", monkeypatch)
    found: dict[str, Any] = {}
    exec(compile(CONNECTS, PAGE, "exec"), found)
    assert (found["message"].text, found["order"].text) == ("order 1", "invoice")


def test_a_program_looks_after_another_manager(
    shop: ManagerProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of docs/management.md."""
    Users(shop.folder / "data").add("admin", "...", "admin")
    connect_to(shop, "connect_management", monkeypatch)
    page = ROOT / "docs" / "management.md"
    [text] = blocks(page, "python")
    exec(compile(text, page, "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["shop01\\private$\\billing 1", "shop01\\private$\\orders 3"]


def test_a_program_without_a_manager_uses_a_supporting_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples of docs/dependent-clients.md."""
    farm = ManagerProcess(
        tmp_path, "farm", options=("--rpc-alternate-port", "0", "--supporting-server")
    )
    data = farm.folder / "data"
    Users(data).add("analyst", "secret", "read+send", ("quotes", "answers", "risks"))
    monkeypatch.chdir(tmp_path)
    making = ("certificate", "create", "analyst", "--out", "analyst.pem", "--register")
    subprocess.run(
        [sys.executable, "-m", "openmsmq", *making, "--data", str(data)],
        check=True,
        capture_output=True,
    )
    farm.start()
    try:
        with openmsmq.connect(farm.app) as manager:
            quotes, answers = (
                manager.create_queue(name, transactional=True) for name in ("quotes", "answers")
            )
            with manager.transaction() as transaction:
                quotes.send(b"sell 7", transaction=transaction)
            connect_to(farm, "connect_dependent", monkeypatch)
            page = ROOT / "docs" / "dependent-clients.md"
            manager.create_queue("risks", authenticate=True)
            for text in blocks(page, "python"):
                exec(compile(text, page, "exec"), {})
            assert manager.open_queue("risks").receive(timeout=5).signature_type == 3
            assert answers.receive(timeout=5).body == b"yes: sell 7"
            assert quotes.info().messages == 0
    finally:
        farm.kill()


def test_commands_and_programs_read_through_their_manager(
    shop: ManagerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = ManagerProcess(tmp_path, "near")
    data = near.folder / "data"
    data.mkdir()
    settings = SETTINGS.replace("192.0.2.10:2103", "{}:{}".format(*shop.ready["rpc_alternate"]))
    assert settings != SETTINGS
    (data / "openmsmq.toml").write_text(settings)
    (data / "shop01.password").touch(0o600)
    (data / "shop01.password").write_text("...\n")
    near.start()
    try:
        for command in blocks(PAGE, "sh")[-1].splitlines():
            command = command.replace("openmsmq", f"{sys.executable} -m openmsmq", 1)
            shown = subprocess.check_output(
                f"{command} --manager {near.app}", shell=True, text=True, timeout=60
            )
            assert "order 1" in shown
        connect = openmsmq.connect
        monkeypatch.setattr(openmsmq, "connect", lambda _: connect(near.app))
        found: dict[str, Any] = {}
        exec(compile(THROUGH, PAGE, "exec"), found)
        assert found["message"].text == "order 2"
    finally:
        near.kill()
