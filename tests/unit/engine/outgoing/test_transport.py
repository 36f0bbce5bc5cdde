"""Several transports, each for its kinds of address."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.carriers import FakeTransport, MemoryTransport
from tests.unit.engine.office import Manager
from tests.unit.engine.world import commit_all

from openmsmq.engine.outgoing.info import NO_PROTOCOL, ONLY_A_SERVICE, outgoing_infos
from openmsmq.engine.outgoing.transport import AddressKind, Transports, address_kind
from openmsmq.errors import UnsupportedFormatNameOperation, UnsupportedOperation
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.types.message import Message
from openmsmq.types.outgoing import TransferState

MANAGER = UUID("11111111-2222-4333-8444-555566667777")
BINARY = r"DIRECT=OS:b\private$\q"
HTTP = "DIRECT=HTTP://server/msmq/private$/q"
MULTICAST = "MULTICAST=234.1.1.1:8001"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (BINARY, AddressKind.BINARY),
        (r"DIRECT=TCP:10.0.0.2\q", AddressKind.BINARY),
        (f"PRIVATE={MANAGER}\\0000000c", AddressKind.BINARY),
        (f"MACHINE={MANAGER};JOURNAL", AddressKind.BINARY),
        (f"CONNECTOR={MANAGER}", AddressKind.BINARY),
        (HTTP, AddressKind.HTTP),
        ("DIRECT=HTTPS://server/msmq/q", AddressKind.HTTP),
        (MULTICAST, AddressKind.MULTICAST),
        (f"PUBLIC={MANAGER}", AddressKind.BINARY),
    ],
)
def test_the_name_says_which_kind_of_transport_it_needs(
    name: str, kind: AddressKind | None
) -> None:
    """MQQB-172: only a directory knows public queues, and HTTP is no session."""
    assert address_kind(parse_format_name(name)) == kind


@pytest.fixture
def manager() -> Manager:
    return Manager()


def test_a_second_transport_carries_messages_for_its_own_addresses(manager: Manager) -> None:
    binary = FakeTransport()
    manager.local.dispatcher.register([AddressKind.BINARY], binary)
    http = MemoryTransport(manager.local.dispatcher, [AddressKind.HTTP], MANAGER)
    to_binary, to_http = manager.open(BINARY), manager.open(HTTP)
    manager.send(to_binary, Message(b"1"))
    manager.send(to_http, Message(b"2", recoverable=True), Message(b"3"))
    commit_all(manager.local)
    carried = [(name, PacketView(packet).body) for name, packet in http.carried]
    assert carried == [(HTTP, b"2"), (HTTP, b"3")]
    assert {queue for _, queue in binary.reported} == {to_binary}
    assert (to_http.messages, len(to_http.express)) == (0, 0)
    assert manager.bodies(to_binary) == [b"1"]


def test_messages_from_before_are_offered_to_a_transport_that_is_registered_later(
    manager: Manager,
) -> None:
    manager.send(manager.open(HTTP), Message(b"1"))
    http = MemoryTransport(manager.local.dispatcher, [AddressKind.HTTP], MANAGER)
    assert [PacketView(packet).body for _, packet in http.carried] == [b"1"]


def test_each_queue_shows_the_route_of_its_own_transport(manager: Manager) -> None:
    MemoryTransport(manager.local.dispatcher, [AddressKind.HTTP], MANAGER)
    for name in (BINARY, HTTP):
        manager.send(manager.open(name), Message(b"1"))
    by_name = {info.name: info for info in outgoing_infos(manager.local)}
    shown = [(by_name[name].next_hop, by_name[name].last_error) for name in (BINARY, HTTP)]
    assert shown == [("", NO_PROTOCOL), ("memory", "")]
    assert by_name[BINARY].state == TransferState.NEED_VALIDATION


def test_without_any_transport_every_queue_says_that_a_service_is_needed(manager: Manager) -> None:
    for name in (BINARY, HTTP):
        manager.send(manager.open(name), Message(b"1"))
    errors = [info.last_error for info in outgoing_infos(manager.local)]
    assert errors == [ONLY_A_SERVICE, ONLY_A_SERVICE]


def test_a_kind_of_address_has_one_transport(manager: Manager) -> None:
    transports = manager.local.transports
    transports.add([AddressKind.HTTP], FakeTransport())
    with pytest.raises(AssertionError, match="HTTP has a transport"):
        transports.add([AddressKind.HTTP], FakeTransport())


def test_retry_asks_the_transport_of_the_queue(manager: Manager) -> None:
    queue = manager.open(HTTP)
    with pytest.raises(UnsupportedOperation, match="only a service sends"):
        manager.local.retry(queue)
    transport = FakeTransport()
    manager.local.dispatcher.register([AddressKind.HTTP], transport)
    manager.local.retry(queue)
    assert transport.reported[-1] == ("retry", queue)


def test_retry_of_an_address_without_a_transport_changes_nothing(manager: Manager) -> None:
    manager.local.dispatcher.register([AddressKind.BINARY], FakeTransport())
    queue = manager.open(HTTP)
    manager.local.retry(queue)
    assert queue.transfer is not None
    assert queue.transfer.state is TransferState.NEED_VALIDATION


def test_a_multicast_address_can_be_opened_when_a_transport_serves_it(manager: Manager) -> None:
    with pytest.raises(UnsupportedFormatNameOperation):
        manager.open(MULTICAST)
    group = FakeTransport()
    manager.local.dispatcher.register([AddressKind.MULTICAST], group)
    queue = manager.open(MULTICAST)
    assert manager.local.transports.get(queue) is group


@pytest.mark.parametrize(("name", "is_reachable"), [(BINARY, True), (HTTP, False)])
def test_only_the_binary_protocol_is_waited_for_without_a_transport(
    manager: Manager, name: str, is_reachable: bool
) -> None:
    """[MS-MQQB] 3.1.7.4: what cannot leave is not acknowledged to."""
    transports, parsed = manager.local.transports, parse_format_name(name)
    assert transports.is_reachable(parsed) is is_reachable
    transports.add([AddressKind.HTTP], FakeTransport())
    assert transports.is_reachable(parsed)


def test_a_paused_queue_is_withdrawn_from_its_transport_and_offered_again(
    manager: Manager,
) -> None:
    http, queue = FakeTransport(), manager.open(HTTP)
    manager.local.dispatcher.register([AddressKind.HTTP], http)
    manager.local.dispatcher.pause(queue)
    manager.local.dispatcher.resume(queue)
    assert [call for call, _ in http.reported] == ["ready", "withdrawn", "ready"]


def test_a_transport_of_several_kinds_is_listed_once() -> None:
    transports, one, other = Transports(), FakeTransport(), FakeTransport()
    assert not transports
    transports.add([AddressKind.BINARY, AddressKind.HTTP], one)
    transports.add([AddressKind.MULTICAST], other)
    assert list(transports) == [one, other]
