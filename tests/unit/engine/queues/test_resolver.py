"""Which names mean queues of this manager, whatever kind of name it is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.engine.world import World

from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.queues.resolver import Resolver, is_private
from openmsmq.engine.queues.system import NAMES, NOTIFICATION
from openmsmq.errors import QueueNotFound
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import host_key
from openmsmq.names.path import shown
from openmsmq.types.queues import QueueKind

ME = UUID(int=7)
OTHER = UUID("12345678-1234-4234-8234-123456789abc")


def resolver(world: World, *own: Any, **more: Any) -> Resolver:
    """The resolver of a manager with these names."""
    world.core.queues.resolver.configure(*own, **more)
    return world.core.queues.resolver


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def names(world: World) -> Resolver:
    return resolver(world, ["Server1", "server1.example.com", "10.1.2.3"])


@pytest.fixture
def private(world: World) -> ManagedQueue:
    return world.queue("private$\\Orders")


@pytest.fixture
def public(world: World) -> ManagedQueue:
    return world.queue("Sales", kind=QueueKind.PUBLIC)


@pytest.mark.parametrize(
    "host",
    [
        ".",
        "localhost",
        "LocalHost",
        "server1",
        "SERVER1",
        "server1.example.com",
        "10.1.2.3",
        "127.0.0.1",
        "::1",
    ],
)
def test_names_of_this_computer_mean_queues_here(names: Resolver, host: str) -> None:
    """A-26."""
    for name in (f"{host}\\private$\\Orders", f"DIRECT=OS:{host}\\private$\\Orders"):
        assert names.local(parse_name(name)) == "private$\\Orders"


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("orders", "private$\\orders"),
        (".\\Sales", "Sales"),
        (".\\private$\\orders;retry", "private$\\orders;retry"),
        (".\\private$\\orders\\Journal$", "private$\\orders;JOURNAL"),
        ("DIRECT=OS:.\\private$\\orders;journal", "private$\\orders;JOURNAL"),
        (".\\Journal$", "SYSTEM$;JOURNAL"),
        (".\\DeadLetter$", "SYSTEM$;DEADLETTER"),
        (".\\XactDeadLetter$", "SYSTEM$;DEADXACT"),
        ("DIRECT=OS:.\\SYSTEM$;DEADXACT", "SYSTEM$;DEADXACT"),
        ("DIRECT=TCP:127.0.0.1\\private$\\orders", "private$\\orders"),
        ("DIRECT=TCP:10.1.2.3\\private$\\orders", "private$\\orders"),
        ("DIRECT=HTTP://server1/msmq/private$/orders", "private$\\orders"),
        ("DIRECT=HTTPS://localhost:444/msmq/orders", "orders"),
    ],
)
def test_every_form_of_a_path_leads_below_the_computer(
    names: Resolver, name: str, local: str
) -> None:
    assert names.local(parse_name(name)) == local


@pytest.mark.parametrize(
    "name",
    [
        "other\\private$\\orders",
        "DIRECT=OS:other\\orders",
        "DIRECT=OS:server1x\\orders",
        "DIRECT=TCP:10.1.2.4\\private$\\orders",
        "DIRECT=TCP:fe80::1\\private$\\orders",
        "DIRECT=TCP:127.9.9.9\\private$\\orders",
        "DIRECT=HTTP://other/msmq/orders",
        f"PUBLIC={OTHER}",
        f"PRIVATE={OTHER}\\10",
        f"MACHINE={OTHER};DEADLETTER",
        "MULTICAST=234.1.1.1:8001",
        f"DL={OTHER}",
        f"CONNECTOR={OTHER}",
    ],
)
def test_all_other_names_lead_elsewhere(names: Resolver, private: ManagedQueue, name: str) -> None:
    assert names.local(parse_name(name)) is None


def test_a_manager_that_shares_a_computer_has_its_own_address(world: World) -> None:
    names = resolver(world, ["server1"], ["127.0.0.2"])
    name = "DIRECT=TCP:127.0.0.{}\\private$\\orders"
    assert names.local(parse_name(name.format(2))) == "private$\\orders"
    assert names.local(parse_name(name.format(1))) is None


def test_a_private_queue_is_known_by_its_number(names: Resolver, private: ManagedQueue) -> None:
    name = f"PRIVATE={ME}\\{private.number:08x}"
    assert names.local(parse_name(name)) == "private$\\Orders"
    assert names.local(parse_name(name + ";JOURNAL")) == "private$\\Orders;JOURNAL"


def test_an_unknown_number_is_no_queue(
    world: World, names: Resolver, private: ManagedQueue, public: ManagedQueue
) -> None:
    """Neither is that of another kind of queue (DMPR-158, DMPR-384)."""
    numbers = [999, public.number, NOTIFICATION, journal_of(private).number]
    for number in numbers:
        with pytest.raises(QueueNotFound) as info:
            names.local(parse_name(f"PRIVATE={ME}\\{number:x}"))
        assert info.value.hresult == 0xC00E0003


def test_a_public_queue_is_known_by_its_identifier(names: Resolver, public: ManagedQueue) -> None:
    name = f"PUBLIC={public.properties.id}"
    assert names.local(parse_name(name)) == "Sales"
    assert names.local(parse_name(name + ";JOURNAL")) == "Sales;JOURNAL"


def test_private_and_system_queues_are_not_public(
    world: World, names: Resolver, public: ManagedQueue
) -> None:
    """DMPR-042."""
    assert names.local(parse_name(f"PUBLIC={public.properties.id}")) == public.name
    queues = [world.queue("private$\\a"), world.core.queues.dead_letter]
    for queue in queues:
        assert names.local(parse_name(f"PUBLIC={queue.properties.id}")) is None


@pytest.mark.parametrize("suffix", ["JOURNAL", "DEADLETTER", "DEADXACT"])
def test_the_queues_of_the_machine_are_known_by_its_identifier(
    names: Resolver, suffix: str
) -> None:
    assert names.local(parse_name(f"MACHINE={ME};{suffix}")) == f"SYSTEM$;{suffix}"


def test_the_rules_ask_it(world: World, names: Resolver, private: ManagedQueue) -> None:
    name = parse_format_name("DIRECT=OS:server1\\private$\\orders")
    assert world.core.queues.for_sending(name) is private


def test_the_path_tells_a_private_queue() -> None:
    """DMPR-120."""
    assert is_private("Private$\\orders")
    assert not is_private("orders")
    assert not is_private("privates\\orders")


@pytest.mark.parametrize(
    ("local", "text"),
    [
        ("private$\\orders", ".\\private$\\orders"),
        ("Sales", ".\\Sales"),
        ("private$\\orders;retry", ".\\private$\\orders;retry"),
        ("private$\\orders;JOURNAL", ".\\private$\\orders\\Journal$"),
        (NAMES[6], ".\\DeadLetter$"),
        (NAMES[7], ".\\XactDeadLetter$"),
        (NAMES[5], ".\\Journal$"),
    ],
)
def test_people_read_path_names(local: str, text: str) -> None:
    assert shown(local) == text


# Messages that come from elsewhere


def direct(host: str, protocol: str = "OS") -> DirectName:
    name = parse_format_name(f"DIRECT={protocol}:{host}\\private$\\orders")
    assert isinstance(name, DirectName)
    return name


@pytest.mark.parametrize(
    "host",
    [
        "SERVER1",
        "server1.example.com",
        "server1.other.example",
        "localhost",
        "host7",
        "HOST7.example.org",
        "192.0.2.77",
        "2001:db8::7",
    ],
)
def test_messages_for_a_name_of_this_computer_are_taken(world: World, host: str) -> None:
    """AMB-70: with or without a domain, and an address says nothing behind a translation."""
    names = resolver(world, ["Server1"], host_names=["host7", "host7.example.org"])
    assert names.misdirected(direct(host)) == ""


@pytest.mark.parametrize("host", ["server2", "server1.other.example", "ver1", "server11"])
def test_messages_for_another_computer_are_refused_with_the_remedy(world: World, host: str) -> None:
    """AMB-70."""
    names = resolver(world, ["server1.example.com"])
    assert names.misdirected(direct(host)) == (
        f"it is for the computer {host}, which is no name of this one; if it should be,"
        f" start with --alias {host}"
    )


def test_an_address_is_never_looked_at(world: World) -> None:
    """AMB-70: address translation changes it on the way."""
    names = resolver(world, ["server1"])
    assert names.misdirected(direct("192.0.2.77", "TCP")) == ""
    assert names.local(direct("192.0.2.77", "TCP")) is None, "but it is not sent to ourselves"


def test_the_check_can_be_switched_off(world: World) -> None:
    """AMB-70: IgnoreOSNameValidation."""
    names = resolver(world, ["server1"], takes_all=True)
    assert names.misdirected(direct("server2")) == ""
    assert names.local(direct("server2")) is None


def test_names_of_before_still_count(world: World) -> None:
    names = resolver(world, ["server1"])
    assert names.misdirected(direct("old"))
    world.done(world.core.configure(inherited_names=["OLD"]))
    assert names.misdirected(direct("Old")) == ""
    assert names.local(direct("old")) is None


def test_a_url_is_of_this_manager_only_with_its_port() -> None:
    """Other managers may listen on other ports of the same computer."""
    resolver = World().core.queues.resolver
    usual = parse_format_name("DIRECT=HTTP://here/msmq/private$/orders")
    other = parse_format_name("DIRECT=HTTP://here:8080/msmq/private$/orders")
    assert resolver.local(usual) == resolver.local(other) == "private$\\orders"
    resolver.http_port = 8080
    assert resolver.local(usual) is None
    assert resolver.local(other) == "private$\\orders"
    resolver.http_port = 80
    assert resolver.local(usual) == "private$\\orders"
    assert resolver.local(other) is None
    assert resolver.local(parse_format_name("DIRECT=OS:here\\q")) == "q"


def test_the_url_under_which_others_reach_this_manager_is_its_own() -> None:
    """A proxy in front of it has another name, and perhaps another port."""
    resolver = World().core.queues.resolver
    resolver.http_port = 8080
    resolver.http_place = (host_key("shop.example"), 443)
    usual = parse_format_name("DIRECT=HTTPS://Shop.Example/msmq/private$/orders")
    other = parse_format_name("DIRECT=HTTPS://shop.example:444/msmq/private$/orders")
    assert resolver.local(usual) == "private$\\orders"
    assert resolver.local(other) is None
    assert resolver.local(parse_format_name("DIRECT=OS:shop.example\\q")) is None
