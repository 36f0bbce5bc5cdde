"""A manager elsewhere, looked after by threads and by tasks."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.client.adapter import Api
from tests.unit.client.remote_read.managers import RemoteManager

import openmsmq
from openmsmq.errors import IllegalFormatName, IllegalPropid, MQError, QueueNotActive
from openmsmq.interfaces.management.server import ManagementServer
from openmsmq.interfaces.management.stubs import THE_MACHINE
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, Property
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message

LOGIN: dict[str, Any] = {"user": "root", "password": "secret", "computer": "HOST"}
OFFICE = r"DIRECT=OS:office\private$\orders"


@pytest.fixture
def management(elsewhere: RemoteManager, rpc_api: Api) -> openmsmq.RemoteManagement:
    mapper = elsewhere.mapper_port
    assert mapper is not None
    return rpc_api.connect_management("127.0.0.1", mapper_port=mapper, **LOGIN)


def send_away(elsewhere: RemoteManager) -> None:
    def begin() -> Any:
        handle = elsewhere.manager.open_queue(OFFICE, Mode(Access.SEND))
        return handle.send([Message(b"1")])

    elsewhere.do(begin)


def test_a_manager_tells_of_itself_and_its_queues(
    elsewhere: RemoteManager, management: openmsmq.RemoteManagement
) -> None:
    """MQMR-001, MQMR-002, MQMR-003, MQMR-004, MQMR-005, MQMR-013, MQMR-057, MQMR-058, MQMR-059,
    MQMR-220, MQMR-223, MQMR-225, SYS-171: found by the endpoint mapper, over one connection.
    """
    elsewhere.send("a", "b")
    machine = management.machine()
    assert machine.private_queues == (r"HOST\private$\billing", r"HOST\private$\orders")
    assert machine.active_queues == (r"DIRECT=OS:HOST\private$\orders",)
    assert (machine.connected, machine.directory_server) == (True, None)
    assert machine.bytes
    queue = management.queue("orders")
    assert (queue.messages, queue.bytes, queue.type) == (2, machine.bytes, "PRIVATE")
    assert (queue.last_ack, queue.attempts, queue.incoming) == (None, None, ())
    assert management.queue("billing").transactional == "YES"
    assert sum(elsewhere.connections()) == 1


def test_only_an_administrator_is_answered(elsewhere: RemoteManager, rpc_api: Api) -> None:
    """MQMR-038"""
    place: dict[str, Any] = {"mapper_port": elsewhere.mapper_port}
    with (
        rpc_api.connect_management("127.0.0.1", **place, **LOGIN | {"user": "alice"}) as other,
        pytest.raises(openmsmq.AccessDenied),
    ):
        other.machine()


def test_queues_are_listed_and_an_outgoing_one_is_paused(
    elsewhere: RemoteManager, management: openmsmq.RemoteManagement
) -> None:
    """MQMR-224"""
    send_away(elsewhere)
    assert OFFICE in management.machine().active_queues
    management.pause(OFFICE)
    found = management.queue(OFFICE)
    assert (found.state, found.location, found.messages) == ("ONHOLD", "REMOTE", 1)
    assert found.next is not None
    assert found.attempts == ()
    management.resume(OFFICE)
    management.resend(OFFICE)
    assert management.queue(OFFICE).state != "ONHOLD"
    management.disconnect_network()
    assert not management.machine().connected
    management.connect_network()
    assert management.machine().connected
    management.tidy()
    assert management.queue(OFFICE).messages == 1


def test_errors_are_those_of_the_manager(management: openmsmq.RemoteManagement) -> None:
    """MQMR-221, MQMR-222, SYS-191, SYS-192"""
    with pytest.raises(MQError) as refused:
        management.queue("none")
    assert refused.value.hresult == 0xC00E0001
    with pytest.raises(QueueNotActive):
        management.pause("orders")
    with pytest.raises(IllegalFormatName):
        management.queue("DIRECT=nonsense")
    with pytest.raises(IllegalPropid):
        management.properties(THE_MACHINE, (MGMT_QUEUE.SUBQUEUE_NAMES,))


@pytest.mark.parametrize("code", [0xC00E0001, 0xC00E0006, 0xE00E0077])
def test_codes_of_others_are_passed_up(
    management: openmsmq.RemoteManagement, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """MQMR-054, MQMR-190, MQMR-226"""

    def fail(*_: object) -> None:
        raise MQError.from_hresult(code)

    monkeypatch.setattr(ManagementServer, "_values", fail)
    monkeypatch.setattr(ManagementServer, "_do", fail)
    for call in (management.machine, management.tidy):
        with pytest.raises(MQError) as refused:
            call()
        assert refused.value.hresult == code


def test_old_managers_know_fewer_properties(
    elsewhere: RemoteManager,
    management: openmsmq.RemoteManagement,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MQMR-228"""
    values = ManagementServer._values

    def old(server: ManagementServer, asked: Any) -> Any:
        newest = 5 if asked.managed == THE_MACHINE else 23
        if max(asked.propids) > newest:
            raise IllegalPropid("unknown here")
        return values(server, asked)

    monkeypatch.setattr(ManagementServer, "_values", old)
    elsewhere.send("a")
    assert management.machine().bytes is None
    assert len(management.machine().private_queues) == 2
    queue = management.queue("orders")
    assert (queue.messages, queue.subqueues) == (1, None)


def test_others_than_administrators_are_refused(elsewhere: RemoteManager, rpc_api: Api) -> None:
    login = LOGIN | {"user": "alice"}
    with (
        rpc_api.connect_management("127.0.0.1", port=elsewhere.port, **login) as management,
        pytest.raises(openmsmq.AccessDenied),
    ):
        management.machine()
    wrong = LOGIN | {"password": "wrong"}
    with (
        rpc_api.connect_management("127.0.0.1", port=elsewhere.port, **wrong) as management,
        pytest.raises(openmsmq.AccessDenied),
    ):
        management.machine()


def test_every_property_can_be_asked_for_alone(management: openmsmq.RemoteManagement) -> None:
    wanted: tuple[Property, ...]
    for wanted in ((item,) for item in MGMT_MSMQ):
        assert management.properties(THE_MACHINE, wanted).keys() == set(wanted)
