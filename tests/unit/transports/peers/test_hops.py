"""Messages that go by other managers to their destination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from tests.samples import user_message
from tests.unit.engine import handles
from tests.unit.transports.wires import Net, Peer, Station, state, statuses

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalGroup, Origin
from openmsmq.engine.arrivals.incoming import SOURCE
from openmsmq.engine.queues.entry import Entry
from openmsmq.errors import MQError
from openmsmq.names.format import PrivateName
from openmsmq.names.reference import destination_reference
from openmsmq.packet.connection import EstablishConnection
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, one_hop_more
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.transports.peers import hops as hops_module
from openmsmq.types.access import Access
from openmsmq.types.message import Message
from openmsmq.types.outgoing import ConnectionStatus, TransferState


def topology_of(
    net: Net,
    sites: Mapping[str, str],
    links: Mapping[tuple[str, str], int],
    clients: str = "",
    more: str = "",
) -> str:
    """A topology file: `sites` says which managers are in each; those of `clients` do not route."""
    stations = {station.name: station for station in net.stations.values()}
    lines = [f'[[sites]]\nname = "{site}"' for site in sites]
    for (one, other), cost in links.items():
        gates = [name for name in sites[one] + sites[other] if name not in clients]
        lines.append(
            f'[[links]]\nsite1 = "{one}"\nsite2 = "{other}"\ncost = {cost}\ngates = {gates!r}'
        )
    for name, station in stations.items():
        found = [site for site, members in sites.items() if name in members]
        router = str(name not in clients).lower()
        lines.append(
            f'[[managers]]\nname = "{name}"\nid = "{station.local.identity}"\nsites = {found!r}\n'
            f'router = {router}\naddress = "{station.host}:{station.port}"'
        )
    return more + "\n".join(lines)


class Enterprise:
    """Stations that route by one topology."""

    def __init__(
        self,
        names: str,
        sites: Mapping[str, str],
        links: Mapping[tuple[str, str], int],
        clients: str = "",
    ) -> None:
        self.net = Net()
        self.stations = {name: Station(self.net, name) for name in names}
        self.text = topology_of(self.net, sites, links, clients)
        for station in self.stations.values():
            self.apply(station, self.text)

    def __getitem__(self, name: str) -> Station:
        return self.stations[name]

    def apply(self, station: Station, text: str) -> None:
        station.enter(lambda: station.local.configure(topology=text))

    def queue(self, name: str, *, transactional: bool = False) -> str:
        """A new queue `q` of a station, by its format name."""
        station = self.stations[name]
        made = station.create("q", transactional=transactional)
        return str(PrivateName(station.local.identity, made.number))

    def send(
        self, name: str, target: str, *bodies: bytes, transactional: bool = False, **more: object
    ) -> None:
        station = self.stations[name]
        queue = station.out(target)
        messages = [Message(body, **more) for body in bodies]  # type: ignore[arg-type] # by name
        sent = station.send_in if transactional else station.send
        station.enter(lambda: sent(queue, *messages))


LINE = {"west": "a", "mid": "b", "east": "c"}
LINKS = {("west", "mid"): 1, ("mid", "east"): 1}


def in_line() -> Enterprise:
    """Three sites in a row, each with a gate."""
    return Enterprise("abc", LINE, LINKS)


def held(station: Station) -> int:
    """Messages of others that a station keeps."""
    queues = station.local.queues.by_number.values()
    return sum(
        q.messages + len(q.express) for q in queues if q.properties.purpose.startswith("forward")
    )


def cut(enterprise: Enterprise, one: str, other: str) -> None:
    """A station does not hear another: it is unreachable for all."""
    station = enterprise[one]
    del enterprise.net.stations[station.host, station.port]
    for end in enterprise.net.between(station, enterprise[other]):
        end.cut()


@pytest.mark.parametrize("delivery", ["express", "recoverable"])
def test_a_message_goes_by_a_router_to_its_destination(delivery: str) -> None:
    """MQBR-039, MQBR-042, MQBR-043, MQBR-108, MQBR-110, MQBR-116, MQBR-117, MQBR-134."""
    found = in_line()
    target = found.queue("c")
    found.send("a", target, b"one", b"two", recoverable=delivery == "recoverable")
    found.net.wait(60)
    assert found["c"].texts("q") == ["one", "two"]
    assert held(found["b"]) == 0
    tries = {(attempt.host) for attempt in found.net.tries}
    assert found["c"].host in tries
    assert not found.net.between(found["a"], found["c"])


def test_transactional_messages_come_once_and_in_order_over_a_router() -> None:
    """MQBR-120, MQBR-138 to MQBR-141."""
    found = in_line()
    target = found.queue("c", transactional=True)
    for number in range(20):
        found.send("a", target, f"{number}".encode(), transactional=True)
    found.net.wait(60)
    assert found["c"].texts("q") == [str(number) for number in range(20)]
    outgoing = found["a"].out(target)
    assert (outgoing.messages, held(found["b"])) == (0, 0)
    assert not found["b"].local.numbers.sequences.live
    assert list(found["b"].local.incoming.items()) == []


def capture(station: Station) -> list[bytes]:
    """The packets that a station stores or keeps for others from now on."""
    found: list[bytes] = []
    original = station.local.arrivals.take

    def take(
        origin: Origin, arrivals: Sequence[Arrival | ArrivalGroup], done: Callable[..., None]
    ) -> None:
        for item in arrivals:
            found.extend(item.group.split() if isinstance(item, ArrivalGroup) else [item[0]])
        original(origin, arrivals, done)

    station.local.arrivals.take = take  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize("transactional", [False, True])
def test_nothing_of_a_packet_changes_but_the_hop_count(transactional: bool) -> None:
    """MQBR-110, MQBR-116, MQBR-119 to MQBR-122, MQBR-124."""
    found = in_line()
    target = found.queue("c", transactional=transactional)
    at_router, at_end = capture(found["b"]), capture(found["c"])
    found.send("a", target, b"body", label="x", transactional=transactional)
    found.net.wait(60)
    before, after = at_router[0], at_end[0]
    assert (before[FLAGS] & UserFlags.RC, after[FLAGS] & UserFlags.RC) == (0, 1)
    assert one_hop_more(before) == after
    assert after[SOURCE] == found["a"].local.identity.bytes_le


def test_a_manager_that_is_no_router_refuses_with_its_reason() -> None:
    """MQBR-107: plain messages are kept with the refused."""
    found = Enterprise("abc", LINE, LINKS)
    target = found.queue("c")
    found.apply(found["b"], "")
    found.send("a", target, b"lost", recoverable=True)
    found.net.wait(60)
    assert found["c"].texts("q") == []
    assert found["b"].local.queues.refused.messages == 1
    assert found["b"].count("rejected") == 1


def test_a_transactional_message_that_no_router_takes_is_its_senders_dead_letter() -> None:
    """MQBR-107."""
    found = Enterprise("abc", {"west": "abc"}, {}, clients="ac")
    target = found.queue("c", transactional=True)
    text = found.text.replace('name = "a"', 'name = "a"\nout = ["b"]')
    found.apply(found["a"], text)
    found.apply(found["b"], found.text.replace("router = true", "router = false"))
    found.send("a", target, b"lost", transactional=True, dead_letter=True)
    found.net.wait(60)
    letters = found["a"].local.queues.transactional_dead_letter
    assert letters.messages == 1


def test_messages_that_were_passed_on_too_often_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MQBR-111, MQBR-112, MQBR-113, MQBR-115."""
    for count in (0x1C, 0x1D, 0x1E, 0x1F):
        found = in_line()
        target = found.queue("c")
        admin = found["a"].create("admin")
        original = found["a"].local.dispatcher.take_parts

        def take(*given: Any, original: Any = original, count: int = count) -> list[Entry]:
            entries: list[Entry] = original(*given)
            return [
                entry._replace(packet=_with_hops(entry.packet, count))
                if not PacketView(entry.packet).message_class
                else entry
                for entry in entries
            ]

        monkeypatch.setattr(found["a"].local.dispatcher, "take_parts", take)
        name = PrivateName(found["a"].local.identity, admin.number)
        found.send(
            "a",
            target,
            b"x",
            recoverable=True,
            admin_queue=str(name),
            acknowledge=Acknowledge.NEG_ARRIVAL,
        )
        found.net.wait(120)
        if count == 0x1C:
            assert found["c"].texts("q") == ["x"]
            continue
        assert found["c"].texts("q") == []
        (ack,) = found["a"].peek(admin)
        assert ack.message_class == MessageClass.NACK_HOP_COUNT_EXCEEDED


def _with_hops(packet: bytes, count: int) -> bytes:
    return packet[:FLAGS] + bytes((packet[FLAGS] & 0xE0 | count,)) + packet[FLAGS + 1 :]


def triangle() -> Enterprise:
    """Three sites, each linked to the others; the way over b is the cheapest from a to c."""
    return Enterprise("abc", LINE, {**LINKS, ("west", "east"): 5})


def down(found: Enterprise, name: str) -> None:
    """A station cannot be reached."""
    station = found[name]
    del found.net.stations[station.host, station.port]
    for end in list(found.net.ends):
        if not end.is_over and end.machine in station.transport.links:
            end.cut()


def up(found: Enterprise, name: str) -> None:
    """It can be reached again."""
    station = found[name]
    found.net.stations[station.host, station.port] = station


@pytest.mark.parametrize("transactional", [False, True])
def test_another_way_is_taken_when_a_hop_is_down_and_the_best_one_when_it_is_back(
    transactional: bool,
) -> None:
    """MQBR-081, MQBR-101, MQBR-104, MQBR-143."""
    found = triangle()
    target = found.queue("c", transactional=transactional)
    send = partial(found.send, "a", target, transactional=transactional, recoverable=True)
    send(b"1")
    found.net.wait(30)
    assert found.net.between(found["a"], found["b"])
    down(found, "b")
    send(b"2")
    found.net.wait(60)
    assert found["c"].texts("q") == ["1", "2"]
    assert found.net.between(found["a"], found["c"])
    up(found, "b")
    found.net.wait(1200)  # the session is idle, and closed
    before = len(found.net.tries)
    send(b"3")
    found.net.wait(60)
    assert found["c"].texts("q") == ["1", "2", "3"]
    assert found.net.tries[before].host == found["b"].host


def test_a_hop_that_stays_down_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is tried now and then; between two tries, when no queue needs it, it is not forgotten."""
    found = triangle()
    target = found.queue("c")
    down(found, "b")
    for number in range(4):
        found.send("a", target, b"%d" % number, recoverable=True)
        found.net.wait(1200)  # the session is idle, and closed
    assert found["c"].texts("q") == ["0", "1", "2", "3"]
    tried = [attempt for attempt in found.net.tries if attempt.host == found["b"].host]
    assert len(tried) > 1
    assert caplog.text.count("cannot connect") == 1


def test_another_way_is_taken_when_a_hop_accepts_connections_and_says_nothing() -> None:
    """It may hang: a session that never opened is as good as none (RT-02)."""
    found = triangle()
    target = found.queue("c")
    down(found, "b")
    found.net.listeners[found["b"].host, found["b"].port] = Peer().meet
    found.send("a", target, b"1", recoverable=True)
    found.net.wait(180)
    assert found["c"].texts("q") == ["1"]


def test_a_router_keeps_messages_while_the_next_one_is_down() -> None:
    """MQBR-148."""
    found = in_line()
    target = found.queue("c")
    down(found, "c")
    found.send("a", target, b"x", recoverable=True)
    found.net.wait(60)
    assert (held(found["b"]), found["a"].out(target).messages) == (1, 0)
    up(found, "c")
    found.net.wait(120)
    assert (found["c"].texts("q"), held(found["b"])) == (["x"], 0)


def test_what_is_recoverable_survives_a_crash_of_the_router_and_express_messages_do_not() -> None:
    """MQBR-125 to MQBR-127."""
    found = in_line()
    target = found.queue("c")
    down(found, "c")
    found.send("a", target, b"kept", recoverable=True)
    found.send("a", target, b"gone", recoverable=False)
    found.net.wait(60)
    assert held(found["b"]) == 2
    found.stations["b"] = found["b"].restart_here()
    up(found, "c")
    found.net.wait(300)
    assert found["c"].texts("q") == ["kept"]
    assert held(found["b"]) == 0


def test_a_router_that_loses_all_it_had_delays_transactional_messages_only() -> None:
    """MQBR-142: its sender has them until their receiver says that they came."""
    found = in_line()
    target = found.queue("c", transactional=True)
    down(found, "c")
    found.send("a", target, b"1", transactional=True)
    found.send("a", target, b"2", transactional=True)
    found.net.wait(10)
    assert held(found["b"]) == 2
    station = found["b"]
    for queue in list(station.local.queues.by_number.values()):
        if queue.properties.purpose.startswith("forward"):
            station.enter(lambda queue=queue: station.local.queue_lifecycle.purge(queue))  # type: ignore[misc]
    assert held(station) == 0
    up(found, "c")
    found.net.wait(60)  # longer than the first resend, shorter than an idle session lasts
    assert found["c"].texts("q") == ["1", "2"]


def test_a_transit_message_that_expires_is_its_routers_dead_letter_and_is_reported() -> None:
    """MQBR-130, MQBR-132, MQBR-146, MQBR-147."""
    found = in_line()
    target = found.queue("c")
    admin = found["a"].create("admin")
    down(found, "c")
    found.send(
        "a",
        target,
        b"x",
        recoverable=True,
        dead_letter=True,
        time_to_reach_queue=30,
        admin_queue=str(PrivateName(found["a"].local.identity, admin.number)),
        acknowledge=Acknowledge.NEG_ARRIVAL,
    )
    found.net.wait(60)
    assert held(found["b"]) == 1  # clocks may differ by a minute
    found.net.wait(60)
    assert held(found["b"]) == 0
    assert found["b"].local.queues.dead_letter.messages == 1
    (ack,) = found["a"].peek(admin)
    assert ack.message_class == MessageClass.NACK_REACH_QUEUE_TIMEOUT


def test_a_transactional_message_that_expires_on_the_way_is_a_dead_letter_of_its_sender_only() -> (
    None
):
    """MQBR-131, MQBR-144, MQBR-145."""
    found = in_line()
    target = found.queue("c", transactional=True)
    down(found, "c")
    at_router = capture(found["b"])
    found.send("a", target, b"1", transactional=True, dead_letter=True, time_to_reach_queue=30)
    found.send("a", target, b"2", transactional=True, dead_letter=True)
    found.net.wait(120)
    assert len(at_router) > 2, "the second is sent again while no acknowledgement comes"
    assert found["b"].local.queues.dead_letter.messages == 0
    assert found["b"].local.queues.transactional_dead_letter.messages == 0
    assert found["a"].local.queues.transactional_dead_letter.messages == 1
    up(found, "c")
    found.net.wait(3600)
    assert found["c"].texts("q") == ["2"]


def test_a_router_journals_nothing_and_acknowledges_no_arrival() -> None:
    """MQBR-129, MQBR-133."""
    found = in_line()
    target = found.queue("c")
    admin = found["a"].create("admin")
    name = str(PrivateName(found["a"].local.identity, admin.number))
    found.send(
        "a",
        target,
        b"x",
        recoverable=True,
        journal=True,
        admin_queue=name,
        acknowledge=Acknowledge.POS_ARRIVAL,
    )
    found.net.wait(60)
    assert found["a"].local.queues.system_journal.messages == 1
    assert found["b"].local.queues.system_journal.messages == 0
    assert len(found["a"].peek(admin)) == 1


@pytest.mark.parametrize(("clients", "is_over"), [("ac", False), ("a", True), ("", True)])
def test_a_routing_server_closes_idle_sessions_after_two_minutes(
    clients: str, is_over: bool
) -> None:
    """MQBR-103: others after five; the sooner side of a session decides."""
    found = Enterprise("ac", {"all": "ac"}, {}, clients)
    found.send("a", found.queue("c"), b"x")
    found.net.wait(110)
    assert found.net.between(found["a"], found["c"])
    found.net.wait(170)  # it may have been used at the beginning of the first two minutes
    assert (not found.net.between(found["a"], found["c"])) is is_over


def test_while_it_waits_a_queue_shows_all_hops_and_then_the_one_in_use() -> None:
    """MQBR-097, MQBR-102: their addresses, in the order in which they are tried."""
    found = triangle()
    target = found.queue("c")
    down(found, "b")
    down(found, "c")
    found.send("a", target, b"x", recoverable=True)
    transfer = found["a"].out(target).transfer
    assert transfer is not None
    hosts = [found[name].host for name in "bc"]
    assert transfer.next_hops == tuple(f"IP={host}" for host in hosts)
    found.net.run()
    assert [attempt.host for attempt in found.net.tries][:2] == hosts
    up(found, "c")
    found.net.wait(60)
    assert found["c"].texts("q") == ["x"]
    assert transfer.next_hops == (f"IP={found['c'].host}",)


def test_a_session_is_asked_for_with_the_identity_of_the_hop() -> None:
    """MQBR-096, MQBR-098: and it is the hop whose address is dialled, not the destination."""
    found = in_line()
    target = found.queue("c")
    down(found, "b")
    peer = Peer()
    found.net.listeners[found["b"].host, found["b"].port] = peer.meet
    found.send("a", target, b"x", recoverable=True)
    found.net.run()
    assert [attempt.host for attempt in found.net.tries] == [found["b"].host]
    (asked,) = peer.packets()
    assert isinstance(asked, EstablishConnection)
    assert asked.header.server_guid == found["b"].local.identity


def test_a_list_of_queues_goes_its_ways_one_by_one() -> None:
    """MQBR-048: each element as if it had been sent alone."""
    found = in_line()
    targets = [found.queue("b"), found.queue("c")]
    station = found["a"]
    several = station.open(",".join(targets), Access.SEND)
    station.enter(lambda: station.send(several, Message(b"x")))
    found.net.wait(60)
    assert [found[name].texts("q") for name in "bc"] == [["x"], ["x"]]
    assert not found.net.between(found["a"], found["c"])


def test_a_router_reports_a_traced_message_when_it_comes_and_when_it_goes_on() -> None:
    """MQBR-128: to the queue that the message names, with the hop count of that moment."""
    found = in_line()
    found.queue("c")
    source, router = found["a"], found["b"]
    router.done(router.local.configure(reports=True))
    reports = router.create(".\\reports")
    to = PrivateName(found["c"].local.identity, found["c"].local.find_queue("q").number)
    out = source.out(str(to))
    debug = DebugHeader(1, 0, reports.properties.id)
    packet = user_message(
        base_flags=3 | BaseFlags.TR,
        debug=debug,
        destination=destination_reference(to, source=source.local.identity, destination=to.guid),
        flags=1 << 5,  # recoverable
    )
    source.done(handles.send_packets(source.local, out, [packet.encode()], None))
    found.net.wait(60)
    assert len(found["c"].texts("q")) == 1
    came, sent = router.peek(reports)
    assert ["NEXT HOP" in str(report.text) for report in (came, sent)] == [False, True]
    assert [":01 " in report.label for report in (came, sent)] == [True, True]


@pytest.mark.parametrize("suffix", ["JOURNAL", "DEADLETTER", "DEADXACT"])
def test_nothing_is_sent_to_system_queues_of_a_manager_in_the_topology(suffix: str) -> None:
    """MQBR-047: so that nothing of it can be routed."""
    found = in_line()
    with pytest.raises(MQError):
        found["a"].open(f"MACHINE={found['c'].local.identity};{suffix}", Access.SEND)


def test_direct_names_are_not_routed() -> None:
    """MQBR-040."""
    found = in_line()
    found.queue("c")
    found.send("a", r"DIRECT=OS:c\private$\q", b"x", recoverable=True)
    found.net.wait(30)
    assert found["c"].texts("q") == ["x"]
    assert found.net.between(found["a"], found["c"])


def test_without_a_route_a_message_waits_and_goes_when_there_is_one() -> None:
    """MQBR-036, MQBR-099, MQBR-100."""
    found = Enterprise("abc", LINE, {("mid", "east"): 1})
    target = found.queue("c")
    found.send("a", target, b"x", recoverable=True)
    found.net.wait(60)
    queue = found["a"].out(target)
    assert state(queue) is TransferState.NEED_VALIDATION
    assert ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE in statuses(queue)
    text = topology_of(found.net, LINE, LINKS)
    for station in found.stations.values():
        found.apply(station, text)
    found.net.wait(60)
    assert found["c"].texts("q") == ["x"]


def test_another_topology_takes_queues_from_a_hop_that_is_none_any_more() -> None:
    """MQBR-105, MQBR-151."""
    found = in_line()
    target = found.queue("c")
    found.send("a", target, b"1", recoverable=True)
    found.net.wait(30)
    direct = topology_of(found.net, {"all": "abc"}, {})
    for station in found.stations.values():
        found.apply(station, direct)
    found.send("a", target, b"2", recoverable=True)
    found.net.wait(30)
    assert found["c"].texts("q") == ["1", "2"]
    assert found.net.between(found["a"], found["c"])
    before = found["b"].count("arrived")
    found.apply(found["a"], "")
    found.send("a", target, b"3", recoverable=True)
    found.net.wait(60)
    assert found["c"].texts("q") == ["1", "2", "3"]
    assert found["b"].count("arrived") == before


def test_a_message_for_a_manager_outside_the_topology_is_refused_by_a_router() -> None:
    found = in_line()
    target = found.queue("c")
    b = found["b"]
    text = topology_of(found.net, {"west": "a", "mid": "b", "east": ""}, {("west", "mid"): 1})
    at = text.index('[[managers]]\nname = "c"')
    found.apply(b, text[:at])
    found.send("a", target, b"x", recoverable=True)
    found.net.wait(60)
    assert b.local.queues.refused.messages == 1


def test_a_transit_message_that_comes_again_is_dropped_unless_it_went_round() -> None:
    """MQBR-090, MQBR-091."""
    found = in_line()
    target = found.queue("c")
    station = found["b"]
    packets = capture(station)
    down(found, "c")
    found.send("a", target, b"x", recoverable=True)
    found.net.wait(30)
    (packet,) = packets
    origin = Origin("10.0.0.1", "a", found["a"].local.identity.bytes_le)
    origin.entitle(origin.peer, is_proven=True, is_relay=True, is_known=True)
    for again, expected in ((packet, 1), (one_hop_more(packet), 2)):
        station.enter(
            lambda again=again: station.local.arrivals.take(origin, [(again, None)], lambda _: None)  # type: ignore[misc]
        )
        assert held(station) == expected
    up(found, "c")
    found.net.wait(120)
    assert found["c"].texts("q") == ["x"]


def test_higher_priorities_are_passed_on_first() -> None:
    """MQBR-137."""
    found = in_line()
    target = found.queue("c")
    down(found, "c")
    for priority in (1, 7, 3):
        found.send("a", target, str(priority).encode(), recoverable=True, priority=priority)
        found.net.wait(20)
    order = capture(found["c"])
    up(found, "c")
    found.net.wait(120)
    assert [PacketView(packet).priority for packet in order] == [7, 3, 1]


def test_queues_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops_module, "CLEARED_EVERY", 4)
    found = in_line()
    manager = found["c"].local.identity
    hops = found["a"].transport._hops
    for number in range(40):
        queue = found["a"].out(f"PRIVATE={manager}\\{number + 1:08x}")
        assert hops.key_of(queue) == found["b"].local.identity
        queue.deleted = True
    assert len(hops._chosen) <= 4


def test_with_another_topology_queues_leave_hops_that_are_none_any_more() -> None:
    """RT-29: with what their links have."""
    found = in_line()
    b, c = (found[name].local.identity for name in "bc")
    moving, staying = (found["a"].out(f"PRIVATE={manager}\\1") for manager in (c, b))
    hops = found["a"].transport._hops
    assert hops.key_of(moving) == hops.key_of(staying) == b
    link = object()
    peer: Any = SimpleNamespace(key=b, queues={moving: link, staying: link})
    sites = {"west": "ac", "mid": "b"}
    found.apply(found["a"], topology_of(found.net, sites, {("west", "mid"): 1}))
    dropped: list[object] = []
    hops.route_anew([peer], lambda *given: dropped.append(given))
    assert dropped == [(link, moving)]
    assert peer.queues == {staying: link}
    assert (hops.key_of(moving), hops.key_of(staying)) == (c, b)
