"""The processes of the demonstration."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from openmsmq.demo.managers import HOST, ManagerProcess, free_port
from openmsmq.errors import ServiceNotAvailable


def test_a_free_port_can_be_had() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, free_port()))


@pytest.mark.slow
def test_a_manager_starts_again_at_the_same_place(tmp_path: Path) -> None:
    manager = ManagerProcess(tmp_path, "office")
    assert manager.pid == 0
    try:
        manager.start({"shop": f"{HOST}:1"})
        first, address = manager.pid, manager.address
        with manager.connect() as connected:
            connected.create_queue("orders")
        manager.kill()
        manager.start({})
        assert manager.pid != first
        assert manager.address == address
        with manager.connect() as connected:
            assert [info.name for info in connected.queues()] == [r".\private$\orders"]
    finally:
        manager.stop()
    manager.stop()  # changes nothing


@pytest.mark.slow
def test_a_port_that_others_have_is_an_error_of_one_line(tmp_path: Path) -> None:
    manager = ManagerProcess(tmp_path, "office")
    with socket.socket() as taken:
        taken.bind((HOST, manager.app_port))
        taken.listen()
        with pytest.raises(ServiceNotAvailable, match="office") as caught:
            manager.start({})
    assert "\n" not in caught.value.detail
    assert str(manager.app_port) in caught.value.detail
