"""Which other managers programs read through this one, and with which password."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.errors import InsufficientResources, ServiceNotAvailable
from openmsmq.names.parts import host_key
from openmsmq.service.limits import PASSWORD_FILE_MAX, PROXIED_MANAGERS_MAX
from openmsmq.service.read_proxy import ManagersElsewhere, read_password
from openmsmq.service.values import RemoteManagerEntry


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_password_is_the_line_of_the_file(tmp_path: Path) -> None:
    assert read_password(written(tmp_path / "password", "se cret \n")) == "se cret "


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_password_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "password", "secret", mode)
    with pytest.raises(ServiceNotAvailable, match=rf"mode {mode:04o}.*chmod 600"):
        read_password(path)


def test_a_file_that_is_missing_or_no_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceNotAvailable, match="No such file"):
        read_password(tmp_path / "password")
    with pytest.raises(ServiceNotAvailable, match="more than"):
        read_password(written(tmp_path / "password", "x" * (PASSWORD_FILE_MAX + 1)))


def test_only_queues_of_configured_managers_are_served(tmp_path: Path) -> None:
    reads = ManagersElsewhere({host_key("shop01"): RemoteManagerEntry(level="none")}, tmp_path)
    session = reads.session()
    assert session.serves(r"DIRECT=OS:Shop01\private$\orders")
    assert session.serves(r"shop01\private$\orders")
    assert not session.serves(r"DIRECT=OS:shop02\private$\orders")
    assert not session.serves(r"DIRECT=HTTP://shop01/msmq/private$/orders")
    assert not session.serves(r".\private$\orders")


def test_the_managers_that_programs_read_are_bounded(tmp_path: Path) -> None:
    reads = ManagersElsewhere({host_key("shop01"): RemoteManagerEntry(level="none")}, tmp_path)
    for _ in range(PROXIED_MANAGERS_MAX):
        reads.session().connect(r"DIRECT=OS:shop01\private$\orders")
    with pytest.raises(InsufficientResources):
        reads.session().connect(r"DIRECT=OS:shop01\private$\orders")
