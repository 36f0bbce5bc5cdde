"""Whether two names mean the same queue."""

from __future__ import annotations

import pytest

from openmsmq.names.direct import DirectName
from openmsmq.names.parse import parse_name
from openmsmq.names.same import is_own, queue_key, same_queue

OWN = ["Server1", "server1.example.org", "10.0.0.1", "FE80::1", "server1:8080"]
QUEUE = [
    r".\private$\orders",
    r"SERVER1\private$\Orders",
    r"server1.EXAMPLE.org\PRIVATE$\orders",
    r"DIRECT=OS:.\private$\orders",
    r"DIRECT=OS:server1\private$\orders",
    r"DIRECT=TCP:10.0.0.1\private$\orders",
    r"DIRECT=TCP:fe80:0:0::1\private$\orders",
    "DIRECT=HTTP://server1/msmq/private$/orders",
    "DIRECT=HTTPS://server1:8080/msmq/private$/orders",
]
OTHERS = [
    r".\orders",
    r".\private$\orders;retry",
    r".\private$\orders\Journal$",
    r"server2\private$\orders",
    r"DIRECT=OS:server2\private$\orders",
    r"DIRECT=TCP:10.0.0.2\private$\orders",
    "DIRECT=HTTP://server1:8081/msmq/private$/orders",
    "PUBLIC=01234567-89ab-4cde-8f01-23456789abcd",
]


@pytest.mark.parametrize("text", QUEUE)
def test_all_names_of_an_own_queue_mean_the_same(text: str) -> None:
    assert same_queue(parse_name(text), parse_name(QUEUE[0]), own_names=OWN)
    assert same_queue(parse_name(text), parse_name(QUEUE[1]), own_names=iter(OWN))


@pytest.mark.parametrize("text", OTHERS)
def test_names_of_other_queues_do_not(text: str) -> None:
    assert not same_queue(parse_name(text), parse_name(QUEUE[0]), own_names=OWN)


def test_another_computer_by_path_and_by_direct_name_is_the_same() -> None:
    path, direct = parse_name(r"Server2\q"), parse_name(r"DIRECT=OS:SERVER2\q")
    assert same_queue(path, direct, own_names=OWN)


def test_names_without_a_computer_have_their_own_key() -> None:
    name = parse_name("PUBLIC=01234567-89ab-4cde-8f01-23456789abcd")
    assert queue_key(name, own_names=OWN) == name.key


def test_without_own_names_only_the_dot_is_own() -> None:
    assert is_own(DirectName.from_wire(r"OS:.\q"), own_names=[])
    assert not is_own(DirectName.from_wire(r"OS:server1\q"), own_names=[])
