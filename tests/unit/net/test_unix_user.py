"""Which user is at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from openmsmq.net import unix_user as module
from openmsmq.net.unix_user import unix_user


@pytest.fixture
def pair() -> Iterator[socket.socket]:
    left, right = socket.socketpair(socket.AF_UNIX)
    with left, right:
        yield left


def test_the_user_and_the_groups_of_the_other_end(pair: socket.socket) -> None:
    user, *groups = unix_user(pair)
    assert user == os.geteuid()
    assert os.getegid() in groups


def test_a_user_that_the_system_does_not_know_has_one_group() -> None:
    assert module._groups(4_000_000_000, 17) == [17]


def test_other_sockets_and_systems_tell_nothing(
    pair: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_INET) as other:
        assert unix_user(other) == ()
    assert unix_user(None) == ()
    pair.close()
    assert unix_user(pair) == ()
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert unix_user(pair) == ()
