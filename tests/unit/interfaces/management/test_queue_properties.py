"""The properties of queues, local and outgoing, as management sees them."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.ldap_server import PASSWORD, USER, LdapServer
from tests.strategies.managed import Administrator, queue_object
from tests.unit.directory.office import Office, in_office, until
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.station import ADDRESS, in_order
from tests.unit.engine.world import PARTNER
from tests.unit.interfaces.management.test_server import ELSEWHERE, ORDERS, World
from tests.unit.transports.mqqb.test_resend import Deaf
from tests.unit.transports.wires import Net, Station

from openmsmq.directory.ldap.client import LdapClient
from openmsmq.directory.ldap.controller import Controller
from openmsmq.directory.ldap.controllers import ControllerList
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.service import DirectoryService
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.interfaces.management.queue_properties import QUEUE_PROPERTIES, QueueFacts
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.message import UserMessage
from openmsmq.properties.propid import MGMT_QUEUE
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.values import check_property_value
from openmsmq.properties.variant import PropVariant
from openmsmq.routing.topology import RoutedManager, Site, Topology
from openmsmq.transports.mqqb.receipts import arrival_of
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message
from openmsmq.types.outgoing import ConnectionStatus, TransferState
from openmsmq.wire.reader import Reader

LOGIN = LdapLogin("ntlm", f"OMQ\\{USER}", PASSWORD)
GROUP = "MULTICAST=239.1.2.3:8001"
OF_STREAMS = tuple(item for item in MGMT_QUEUE if 13 <= item.value <= 23)
OF_OUTGOING = (MGMT_QUEUE.NEXTHOPS, *OF_STREAMS, MGMT_QUEUE.CONNECTION_HISTORY)
IDENTITY = (
    MGMT_QUEUE.PATHNAME,
    MGMT_QUEUE.FORMATNAME,
    MGMT_QUEUE.TYPE,
    MGMT_QUEUE.LOCATION,
    MGMT_QUEUE.XACT,
    MGMT_QUEUE.FOREIGN,
    MGMT_QUEUE.STATE,
)


@pytest.fixture
def world() -> World:
    return World()


def outgoing(world: World, name: str) -> QueueFacts:
    world.send(name, "1")
    queue = world.manager.queues.find_outgoing(parse_format_name(name))
    assert queue is not None
    return QueueFacts(world.manager, queue)


def test_every_property_has_a_value_of_its_type_and_set(world: World) -> None:
    """MQMR-079, MQMR-119, SYS-183, MQQB-368: here and elsewhere."""
    assert QUEUE_PROPERTIES.keys() == set(MGMT_QUEUE)
    outgoing(world, ELSEWHERE)
    for name in (ORDERS, ELSEWHERE):
        found = world.admin.get(name, *MGMT_QUEUE)
        for item, value in zip(MGMT_QUEUE, found, strict=True):
            if value is not None:
                check_property_value(item, PropVariant(item.vartype, value))


@pytest.mark.parametrize(
    ("name", "path", "kind", "xact"),
    [
        (ORDERS, "HOST\\private$\\orders", "PRIVATE", "NO"),
        ("DIRECT=OS:HOST\\bills", "HOST\\bills", "PUBLIC", "YES"),
        (f"{ORDERS};JOURNAL", "HOST\\private$\\orders\\Journal$", "PRIVATE", "NO"),
        ("DIRECT=OS:HOST\\SYSTEM$;DEADLETTER", "HOST\\DeadLetter$", "MACHINE", "NO"),
        ("DIRECT=OS:HOST\\SYSTEM$;DEADXACT", "HOST\\XactDeadLetter$", "MACHINE", "YES"),
    ],
)
def test_local_queues_are_known_by_name_and_kind(
    world: World, name: str, path: str, kind: str, xact: str
) -> None:
    """MQMR-101, MQMR-103, MQMR-106, MQMR-107, MQMR-108, MQMR-112, MQMR-113, MQMR-114, MQMR-116,
    MQMR-134, MQMR-135
    """
    world.driver.call(lambda: world.manager.create_queue(".\\bills", transactional=True))
    found = world.admin.get(name, *IDENTITY)
    assert found == [path, name, kind, "LOCAL", xact, "NO", "LOCAL CONNECTION"]


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        (ELSEWHERE, "office\\private$\\answers", "PRIVATE"),
        ("DIRECT=TCP:10.0.0.7\\private$\\q", "10.0.0.7\\private$\\q", "PRIVATE"),
        ("DIRECT=OS:office\\answers", "office\\answers", "PUBLIC"),
        (f"PRIVATE={UUID(int=5)}\\0000000a", None, "PRIVATE"),
    ],
)
def test_outgoing_queues_are_known_by_their_destination(
    world: World, name: str, path: str | None, kind: str
) -> None:
    """MQMR-102, MQMR-104, MQMR-110, MQMR-111, MQMR-115, MQMR-117: no directory tells more."""
    world.send(name, "1")
    found = world.admin.get(name, *IDENTITY)
    assert found[:6] == [path, name, kind, "REMOTE", "NO", "UNKNOWN"]
    handle = world.driver.call(
        lambda: world.manager.open_queue("DIRECT=OS:empty\\q", Mode(Access.SEND))
    )
    assert world.admin.get("DIRECT=OS:empty\\q", MGMT_QUEUE.XACT) == ["UNKNOWN"]
    world.driver.call(handle.close)


def test_the_directory_tells_which_destinations_are_foreign() -> None:
    """MQMR-117, MQMR-118, MQMR-227: it is read by LDAP; while it is away, nothing is known."""

    async def test(office: Office) -> None:
        local, driver = office.local, office.driver
        async with LdapServer(office.tree) as server:
            client = LdapClient(ControllerList([Controller.parse(server.url)]), LOGIN)
            service = DirectoryService(local, driver, client)
            await service.refresh()
            partner = await office.writer.queue_by_path("PARTNER1\\MQORDERS")
            orders = await office.writer.queue_by_path("HQ-APP\\orders")
            answers = {
                f"PUBLIC={partner.id}": "YES",
                f"PRIVATE={partner.manager}\\00000005": "YES",
                "DIRECT=OS:partner1\\MQORDERS": "YES",
                f"PUBLIC={orders.id}": "NO",
                "DIRECT=OS:HQ-APP\\private$\\q": "NO",
                "DIRECT=OS:hq-app.openmsmq.test\\q": "NO",
                "DIRECT=OS:no-one\\q": "UNKNOWN",
                "DIRECT=TCP:192.0.2.1\\q": "UNKNOWN",
            }
            for name in answers:
                if service.needs_lookup(name):
                    pending = driver.call(lambda: service.look_up(name))  # noqa: B023 # at once
                    await until(lambda: pending.done)  # noqa: B023 # likewise
                driver.call(lambda: local.open_queue(name, Mode(Access.SEND)))  # noqa: B023
            admin = Administrator(local)

            def shown() -> dict[str, str]:
                return {name: admin.get(name, MGMT_QUEUE.FOREIGN)[0] for name in answers}

            assert shown() == answers
            await server.stop()
            await service.refresh()
            assert shown() == dict.fromkeys(answers, "UNKNOWN")
            await service.stop("the test is over")

    in_office(test)


def test_a_connector_queue_is_shown_as_one() -> None:
    """MQMR-109: asked for by its name, plain or transactional."""
    site = UUID(int=0x20)
    made = World()
    own = RoutedManager(made.manager.identity, "HOST", (site,), router=True)
    sites = {site: Site(site, "mainframe", foreign=True)}
    made.manager.route_by(Topology(sites, (), {own.id: own}))
    for name, xact in ((f"CONNECTOR={site}", "NO"), (f"CONNECTOR={site};XACTONLY", "YES")):
        found = made.admin.get(name, *IDENTITY)
        assert found == [None, name, "CONNECTOR", "LOCAL", xact, "YES", "LOCAL CONNECTION"]


def test_counts_are_those_of_the_moment(world: World) -> None:
    """MQMR-120 to MQMR-124, MQMR-126 to MQMR-129: held ones count, uncommitted ones do not."""
    four = tuple(item for item in MGMT_QUEUE if 7 <= item.value <= 10)
    name = "DIRECT=OS:HOST\\private$\\bills"
    world.driver.call(lambda: world.manager.create_queue("bills", transactional=True, journal=True))
    assert world.admin.get(name, *four) == [0, 0, 0, 0]
    handle = world.driver.call(lambda: world.manager.open_queue("bills", Mode()))
    sending = world.driver.call(world.manager.begin)
    world.driver.call(lambda: handle.send([Message(b"1"), Message(b"2")], sending))
    assert world.admin.get(name, *four) == [0, 0, 0, 0]
    world.driver.call(lambda: world.manager.commit(sending))
    count, size, *journal = world.admin.get(name, *four)
    queue = world.manager.find_queue("bills")
    assert (count, size, journal) == (2, queue.size, [0, 0])
    assert size > 0
    receiving = world.driver.call(world.manager.begin)
    world.driver.call(lambda: handle.receive(1, wait=False, transaction=receiving))
    assert world.admin.get(name, *four)[:2] == [2, size]
    world.driver.call(lambda: world.manager.commit(receiving))
    count, left, kept, journal_size = world.admin.get(name, *four)
    assert (count, kept) == (1, 1)
    assert (left, journal_size) == (size // 2, size // 2)
    world.driver.call(lambda: world.manager.change_queue(queue, journal=False))
    assert world.admin.get(name, *four)[2:] == [1, size // 2], "what is still there"


def test_a_size_beyond_32_bits_is_the_largest(world: World) -> None:
    """MQMR-125"""
    queue = world.manager.find_queue("orders")
    queue.size = 5 << 30
    facts = QueueFacts(world.manager, queue)
    assert QUEUE_PROPERTIES[MGMT_QUEUE.BYTES_IN_QUEUE](facts) == U32_MAX


def test_subqueues_are_counted_and_named(world: World) -> None:
    """MQMR-130, MQMR-131, MQMR-133"""
    wanted = MGMT_QUEUE.SUBQUEUE_COUNT, MGMT_QUEUE.SUBQUEUE_NAMES
    assert world.admin.get(ORDERS, *wanted) == [0, ()]
    world.send("orders", "1", "2")
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    for name in ("retry", "Later"):
        found = world.driver.call(lambda: handle.peek(1, wait=False))
        lookup = found.result()[0].lookup
        world.driver.call(lambda: handle.move(lookup, name, None))  # noqa: B023 # called at once
    assert world.admin.get(ORDERS, *wanted) == [2, ("retry", "Later")]
    assert world.admin.get(f"{ORDERS};retry", MGMT_QUEUE.MESSAGE_COUNT) == [1]


def test_what_is_about_outgoing_queues_is_null_for_others(world: World) -> None:
    """MQMR-162, MQMR-182: the call succeeds; streams that come in are six empty vectors."""
    assert world.admin.get(ORDERS, *OF_OUTGOING) == [None] * len(OF_OUTGOING)
    [streams] = world.admin.get(ORDERS, MGMT_QUEUE.EOD_SOURCE_INFO)
    assert [item.value for item in streams] == [()] * 6
    world.send(ELSEWHERE, "1")
    assert world.admin.get(ELSEWHERE, MGMT_QUEUE.EOD_SOURCE_INFO) == [None]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (TransferState.CONNECTED, "CONNECTED"),
        (TransferState.DISCONNECTED, "DISCONNECTED"),
        (TransferState.DISCONNECTING, "DISCONNECTING"),
        (TransferState.INACTIVE, "INACTIVE"),
        (TransferState.LOCKED, "LOCKED"),
        (TransferState.NEED_VALIDATION, "NEED VALIDATION"),
        (TransferState.WAITING, "WAITING"),
        (TransferState.ON_HOLD, "ONHOLD"),
    ],
)
def test_states_have_their_words(state: TransferState, text: str) -> None:
    """MQMR-136 to MQMR-143, MQMR-145, MQMR-147, MQMR-148, MQMR-149"""
    net = Net()
    a = Station(net, "a")
    queue = a.out(ELSEWHERE)
    assert queue.transfer is not None
    queue.transfer.next_hops = ("IP=192.0.2.17",)
    queue.transfer.state = state
    facts = QueueFacts(a.local, queue)
    shown = "INACTIVE" if state is TransferState.WAITING else text  # nothing waits
    assert QUEUE_PROPERTIES[MGMT_QUEUE.STATE](facts) == shown
    hops = QUEUE_PROPERTIES[MGMT_QUEUE.NEXTHOPS](facts)
    assert hops == (("IP=192.0.2.17",) if shown == "CONNECTED" else None)


def test_messages_to_a_group_have_an_outgoing_queue_of_their_own(world: World) -> None:
    """MQMR-068, MQMR-105, MQMR-146: found by its name, which is where its messages go."""
    world.manager.dispatcher.register([AddressKind.MULTICAST], FakeTransport())
    facts = outgoing(world, GROUP)
    assert facts.transfer is not None
    wanted = MGMT_QUEUE.TYPE, MGMT_QUEUE.MESSAGE_COUNT, MGMT_QUEUE.NEXTHOPS
    facts.transfer.state = TransferState.CONNECTED
    assert world.admin.get(GROUP, *wanted) == ["MULTICAST", 1, (GROUP,)]


def test_a_queue_that_waits_for_a_connection_says_where_to() -> None:
    """MQMR-142, MQMR-147, MQMR-149, MQMR-166 to MQMR-173: the attempts are there, oldest first."""
    net = Net()
    a = Station(net, "a")
    name = "DIRECT=TCP:10.0.0.3\\private$\\q"
    queue = a.out(name)
    a.send(queue, Message(b"1"))
    net.run()
    net.wait(100)
    admin = Administrator(a.local)
    state, hops, history = admin.get(
        name, MGMT_QUEUE.STATE, MGMT_QUEUE.NEXTHOPS, MGMT_QUEUE.CONNECTION_HISTORY
    )
    assert (state, hops) == ("WAITING", ("IP=10.0.0.3",))
    statuses, times, errors, addresses = [column.value for column in history]
    assert queue.transfer is not None
    assert len(statuses) == len(times) == len(errors) == len(addresses)
    assert len(statuses) == len(queue.transfer.attempts) <= 16
    assert set(statuses) == {0, 0x80000004}
    assert list(times) == sorted(times)
    assert {text for item in addresses for text in item.value} == {"10.0.0.3"}


def test_errors_of_attempts_are_signed_numbers(world: World) -> None:
    """MQMR-168, MQMR-170, MQMR-171, MQQB-369"""
    facts = outgoing(world, ELSEWHERE)
    assert facts.transfer is not None
    for status in ConnectionStatus:
        facts.transfer.attempts.append(Attempt(status, 1000, 0xC00E0069, ("192.0.2.17", "::1")))
    [history] = world.admin.get(ELSEWHERE, MGMT_QUEUE.CONNECTION_HISTORY)
    statuses, _, errors, addresses = [column.value for column in history]
    assert len(statuses) == 16, "the newest ones"
    assert statuses[:2] == (1, 2)
    assert all(status & 0x80000000 for status in statuses[2:])
    assert set(errors) == {0xC00E0069 - (1 << 32)}
    assert addresses[0].value == ("192.0.2.17", "::1")


def places(admin: Administrator, name: str, *wanted: MGMT_QUEUE) -> list[SequenceInfo]:
    return [Reader(value).fixed(SequenceInfo) for value in admin.get(name, *wanted)]


def header(message: UserMessage) -> TransactionHeader:
    assert message.transaction is not None
    return message.transaction


def test_the_figures_of_a_stream_follow_its_acknowledgements() -> None:
    """MQMR-150 to MQMR-161, MQMR-163, MQMR-164, MQMR-165, DMPR-050, MQQB-277, MQQB-366"""
    deaf = Deaf()
    name = deaf.queue.name
    admin = Administrator(deaf.a.local)
    blobs = (
        MGMT_QUEUE.EOD_LAST_ACK,
        MGMT_QUEUE.EOD_FIRST_NON_ACK,
        MGMT_QUEUE.EOD_LAST_NON_ACK,
        MGMT_QUEUE.EOD_NEXT_SEQ,
    )
    figures = (
        MGMT_QUEUE.EOD_LAST_ACK_TIME,
        MGMT_QUEUE.EOD_LAST_ACK_COUNT,
        MGMT_QUEUE.EOD_NO_READ_COUNT,
        MGMT_QUEUE.EOD_NO_ACK_COUNT,
        MGMT_QUEUE.EOD_RESEND_TIME,
        MGMT_QUEUE.EOD_RESEND_INTERVAL,
        MGMT_QUEUE.EOD_RESEND_COUNT,
    )
    handle = deaf.a.local.open_queue(name, Mode(Access.SEND))
    assert [place.pack() for place in places(admin, name, *blobs)] == [bytes(16)] * 4
    assert admin.get(name, *figures) == [0] * 7
    deaf.send("1", "2", "3")
    found = [header(message) for message in deaf.take()]
    stream = found[0].tx_sequence_id
    numbers = [item.tx_sequence_number for item in found]
    identifier = stream.time_stamp << 32 | stream.ordinal
    last, first, newest, following = places(admin, name, *blobs)
    assert last.pack() == bytes(16)
    assert (first.seq_id, first.seq_no, first.prev_no) == (identifier, numbers[0], 0)
    assert (newest.seq_id, newest.seq_no, newest.prev_no) == (identifier, numbers[2], numbers[1])
    assert (following.seq_no, following.prev_no) == (numbers[2] + 1, numbers[2])
    now = int(deaf.a.local.timeline.wall)
    assert admin.get(name, *figures) == [0, 0, 0, 3, now + 30, 30, 1]
    assert admin.get(name, MGMT_QUEUE.XACT) == ["YES"]

    deaf.confirm(found[1])
    last, first, newest, _ = places(admin, name, *blobs)
    assert (last.seq_id, last.seq_no, last.prev_no) == (identifier, numbers[1], numbers[0])
    assert (first, newest) == (newest, SequenceInfo(identifier, numbers[2], numbers[1]))
    assert admin.get(name, *figures[:4]) == [now, 1, 0, 1]
    deaf.net.wait(5)
    deaf.confirm(found[1])
    assert admin.get(name, *figures[:2]) == [now + 5, 2], "the same acknowledgement again"

    deaf.confirm(found[2])
    assert places(admin, name, MGMT_QUEUE.EOD_LAST_ACK)[0].seq_no == numbers[2]
    assert admin.get(name, MGMT_QUEUE.EOD_NO_ACK_COUNT, *figures[4:]) == [0, 0, 0, 0]
    handle.close()


def test_a_stream_is_sent_again_at_once_and_in_order() -> None:
    """MQMR-161, MQMR-215, MQMR-216, SYS-189: the interval stays."""
    deaf = Deaf()
    admin = Administrator(deaf.a.local)
    deaf.send("1", "2", "3")
    assert [text for _, text in deaf.hear()] == ["1", "2", "3"]
    deaf.net.wait(7)
    assert deaf.hear() == []
    for count in (2, 3):
        assert admin.act(queue_object(deaf.queue.name), "EOD_RESEND") == 0
        deaf.net.run()
        assert [text for _, text in deaf.hear()] == ["1", "2", "3"]
        wanted = MGMT_QUEUE.EOD_RESEND_COUNT, MGMT_QUEUE.EOD_RESEND_INTERVAL
        assert admin.get(deaf.queue.name, *wanted) == [count, 30]
    assert deaf.listen(29, 1) == []
    assert len(deaf.listen(2, 1)) == 3


def test_streams_that_come_in_are_listed_by_sender() -> None:
    """MQMR-174 to MQMR-181"""
    net = Net()
    a, b = Station(net, "a"), Station(net, "b")
    b.create("orders", transactional=True)
    name = f"DIRECT=TCP:{b.host}\\private$\\orders"
    queue = a.out(name)
    a.send_in(queue, Message(b"1"), Message(b"2"))
    net.run()
    admin = Administrator(b.local)
    local = f"DIRECT=OS:{b.local.name}\\private$\\orders"
    [streams] = admin.get(local, MGMT_QUEUE.EOD_SOURCE_INFO)
    names, senders, identifiers, numbers, times, rejects = [column.value for column in streams]
    assert (len(names), senders) == (1, (a.local.identity,))
    assert parse_format_name(names[0]) == parse_format_name(name)
    [row] = [row for row in b.local.incoming.items() if row.name]
    assert (identifiers, numbers, times) == ((row.id,), (row.number,), (row.time,))
    assert rejects == (0,)


def test_a_message_out_of_order_raises_the_count_of_rejects(world: World) -> None:
    """MQMR-183"""
    world.driver.call(lambda: world.manager.create_queue("t", transactional=True))
    name, source = "DIRECT=OS:HOST\\private$\\t", Origin(ADDRESS, "partner", PARTNER.bytes_le)

    def take(*numbers: int) -> None:
        packets = [arrival_of(packet) for packet in in_order(*numbers, to=name)]
        world.driver.call(lambda: world.manager.arrivals.take(source, packets, lambda done: None))

    def rejects() -> tuple[int, ...]:
        [streams] = world.admin.get(name, MGMT_QUEUE.EOD_SOURCE_INFO)
        found: tuple[int, ...] = streams[5].value
        return found

    take(1, 2)
    assert rejects() == (0,)
    take(4)
    assert rejects() == (1,)


def test_what_is_sent_again_arrives_once() -> None:
    """MQMR-219"""
    net = Net()
    a, b = Station(net, "a"), Station(net, "b")
    b.create("orders", transactional=True)
    name = f"DIRECT=TCP:{b.host}\\private$\\orders"
    queue = a.out(name)
    a.send_in(queue, Message(b"1"))
    net.run()
    for end in net.ends:
        end.is_held = end.machine not in a.transport.links
    a.send_in(queue, Message(b"2"), Message(b"3"))
    net.run()
    assert Administrator(a.local).act(queue_object(name), "EOD_RESEND") == 0
    assert a.transport.route(queue).resends == 1
    for end in net.ends:
        end.is_held = False
    net.run()
    net.wait(60)
    assert b.local.find_queue("orders").messages == 3
    assert not queue.messages
