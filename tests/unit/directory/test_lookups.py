from __future__ import annotations

from uuid import UUID

import pytest
from tests.directories import BASE, guid_of
from tests.unit.directory.office import Office, in_office
from tests.unit.directory.test_service import ORDERS, SEND, UNKNOWN, answer

from openmsmq.directory import lookups
from openmsmq.directory.elsewhere import Owned
from openmsmq.errors import NoDs, QueueNotFound
from openmsmq.names.format import DistributionListName, PublicName, parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName


def test_a_public_queue_elsewhere_is_looked_up_once() -> None:
    """MQDS-197, MQDS-198, DMPR-332"""

    async def test(office: Office) -> None:
        orders = await guid_of(office.tree, ORDERS)
        owner = await guid_of(office.tree, f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        name = f"PUBLIC={orders}"
        await office.service.refresh()
        assert office.service.needs_lookup(name)
        await answer(office, lambda: office.service.look_up(name))
        assert office.local.directory.owners == {orders: owner}
        assert str(office.local.directory.path(PublicName(orders))) == "hq-app\\orders"
        assert not office.service.needs_lookup(name)
        handle = office.driver.call(lambda: office.local.open_queue(name, SEND))
        assert handle.queue.name == str(parse_format_name(name))
        office.now += lookups.KNOWN_FOR
        assert office.service.needs_lookup(name)
        office.tree.is_down = True
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert office.service.is_offline
        asked = office.tree.operations
        await answer(office, lambda: office.service.look_up(name))  # what is known stays
        with pytest.raises(NoDs):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert office.tree.operations == asked
        with pytest.raises(NoDs):
            office.driver.call(lambda: office.local.open_queue(UNKNOWN, SEND))

    in_office(test)


def test_names_that_need_no_directory() -> None:
    async def test(office: Office) -> None:
        for name in ("DIRECT=OS:a\\q", ".\\private$\\x", "not a name\\\\"):
            assert not office.service.needs_lookup(name)
        assert office.service.is_public(".\\orders")
        assert not office.service.is_public(".\\private$\\orders")
        assert office.service.is_public("other\\orders")
        assert not office.service.is_public("other\\private$\\orders")
        assert not office.service.is_public("DIRECT=OS:other\\orders")
        assert not office.service.is_public("???")

    in_office(test)


def test_that_there_is_no_queue_is_remembered_for_a_minute() -> None:
    async def test(office: Office) -> None:
        await office.service.refresh()
        with pytest.raises(QueueNotFound):
            await answer(office, lambda: office.service.look_up(UNKNOWN))
        assert not office.service.needs_lookup(UNKNOWN)
        with pytest.raises(QueueNotFound):
            office.driver.call(lambda: office.local.open_queue(UNKNOWN, SEND))
        office.now += lookups.UNKNOWN_FOR
        assert office.service.needs_lookup(UNKNOWN)

    in_office(test)


def test_a_public_queue_is_found_by_its_path_name() -> None:
    """In the directory (DS-04); a direct name does without it."""

    async def test(office: Office) -> None:
        await office.service.refresh()
        local, service = office.local, office.service
        orders = await guid_of(office.tree, f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        assert service.needs_lookup("hq-app\\orders")
        await answer(office, lambda: service.look_up("hq-app\\orders"))
        assert not service.needs_lookup("HQ-APP\\Orders")
        handle = office.driver.call(lambda: local.open_queue("hq-app\\orders", SEND))
        assert handle.queue.name == f"PUBLIC={orders}"
        await answer(office, lambda: service.look_up("hq-app\\none"))
        with pytest.raises(QueueNotFound, match="DIRECT=OS"):
            office.driver.call(lambda: local.open_queue("hq-app\\none", SEND))
        for name in ("hq-app\\private$\\orders", "192.0.2.7\\orders", "DIRECT=OS:hq-app\\orders"):
            assert not service.needs_lookup(name)
            direct = office.driver.call(lambda name=name: local.open_queue(name, SEND))  # type: ignore[misc]
            assert direct.queue.name.startswith("DIRECT=")
        office.tree.is_down = True
        await answer(office, lambda: service.look_up("hq-app\\other"))
        assert service.is_offline
        with pytest.raises(NoDs):
            office.driver.call(lambda: local.open_queue("hq-app\\other", SEND))
        office.driver.call(lambda: local.open_queue("hq-app\\orders", SEND))

    in_office(test)


def _path(name: str) -> PathName:
    path = parse_name(f"hq-app\\{name}")
    assert isinstance(path, PathName)
    return path


def test_at_most_so_many_names_are_known_and_those_that_are_sent_to_among_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that names ever more queues fills no table of the manager."""
    monkeypatch.setattr(lookups, "CACHE_MAX", 10)

    async def test(office: Office) -> None:
        await office.service.refresh()
        view, names = office.local.directory, office.service.names
        used = await guid_of(office.tree, ORDERS)
        await answer(office, lambda: office.service.look_up(f"PUBLIC={used}"))
        office.driver.call(lambda: office.local.open_queue(f"PUBLIC={used}", SEND))
        passed_on = PublicName(UUID(int=1000))
        names.found(_path("passed"), Owned(passed_on.guid, UUID(int=1)))
        office.driver.call(lambda: office.local.queues.forwarding(passed_on, is_sideways=False))
        for number in range(30):
            names.found(_path(f"queue{number}"), Owned(UUID(int=number + 1), UUID(int=1)))
        assert len(view.paths) + len(view.owners) <= 10
        assert {used, passed_on.guid} <= view.owners.keys()
        assert UUID(int=30) in view.owners
        assert UUID(int=1) not in view.owners

    in_office(test)


def test_a_list_that_is_gone_is_not_known_any_longer() -> None:
    async def test(office: Office) -> None:
        view, name = office.local.directory, DistributionListName(UUID(int=7))
        view.lists[name.guid] = ()
        office.service.names.forget(name)
        assert view.lists == {}

    in_office(test)
