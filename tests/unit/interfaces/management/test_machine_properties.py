"""The properties of a manager, as management sees them."""

from __future__ import annotations

import pytest
from tests.strategies.managed import Administrator
from tests.unit.directory.office import Office, in_office
from tests.unit.interfaces.management.test_server import ELSEWHERE, ORDERS, World

from openmsmq.interfaces.management.machine_properties import MACHINE_PROPERTIES
from openmsmq.properties.propid import MGMT_MSMQ
from openmsmq.types.access import Access, Mode


@pytest.fixture
def world() -> World:
    return World()


def test_active_queues_are_open_or_hold_messages_or_are_outgoing(world: World) -> None:
    """MQMR-080 to MQMR-086"""

    def active() -> tuple[str, ...]:
        [found] = world.admin.get("", MGMT_MSMQ.ACTIVEQUEUES)
        assert isinstance(found, tuple)
        return found

    assert active() == ()
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode(Access.PEEK)))
    assert active() == (ORDERS,)
    world.driver.call(handle.close)
    assert active() == ()
    world.send("orders", "1")
    world.send(ELSEWHERE, "2")
    assert set(active()) == {ORDERS, ELSEWHERE}


def test_private_queues_are_listed_by_path_as_they_come_and_go(world: World) -> None:
    """MQMR-087, MQMR-088, MQMR-089, MQMR-090"""
    world.driver.call(lambda: world.manager.create_queue(".\\bills"))
    world.send(ELSEWHERE, "1")
    world.send("orders", "1")
    assert world.admin.get("", MGMT_MSMQ.PRIVATEQ) == [("HOST\\private$\\orders",)]
    world.driver.call(lambda: world.manager.create_queue("more"))
    both = ("HOST\\private$\\more", "HOST\\private$\\orders")
    assert world.admin.get("", MGMT_MSMQ.PRIVATEQ) == [both]
    world.driver.call(lambda: world.manager.delete_queue("orders"))
    assert world.admin.get("", MGMT_MSMQ.PRIVATEQ) == [("HOST\\private$\\more",)]


def test_there_is_no_directory_and_nothing_is_said_of_the_system(world: World) -> None:
    """MQMR-093, MQMR-096, MQMR-097, SYS-182"""
    assert MACHINE_PROPERTIES.keys() == set(MGMT_MSMQ)
    assert world.admin.get("", MGMT_MSMQ.DSSERVER, MGMT_MSMQ.TYPE) == [None, ""]


def test_the_first_controller_is_named_while_the_directory_answers() -> None:
    """MQMR-091, MQMR-092, MQMR-093: VT_NULL while none answers, and if none has a name."""

    async def test(office: Office) -> None:
        def server() -> object:
            [found] = admin.get("", MGMT_MSMQ.DSSERVER)
            return found

        admin = Administrator(office.local)
        office.local.directory.servers = ("DC1", "DC2")
        assert server() is None, "it was not asked yet"
        await office.service.refresh()
        assert server() == "\\\\DC1"
        office.tree.is_down = True
        await office.service.refresh()
        assert server() is None
        office.tree.is_down = False
        await office.service.refresh()
        assert server() == "\\\\DC1"
        office.local.directory.servers = ()
        assert server() is None, "known by addresses only"

    in_office(test)


def test_all_bytes_are_counted(world: World) -> None:
    """MQMR-098, MQMR-099, MQMR-100"""
    world.send("orders", "1")
    world.send(ELSEWHERE, "2")
    queues = world.manager.queues.everything
    assert world.admin.get("", MGMT_MSMQ.BYTES_IN_ALL_QUEUES) == [sum(q.size for q in queues)]
    world.manager.queues.system_journal.size = 3 << 32
    found = MACHINE_PROPERTIES[MGMT_MSMQ.BYTES_IN_ALL_QUEUES](world.manager)
    assert isinstance(found, int)
    assert found > 3 << 32
