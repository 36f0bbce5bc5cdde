"""The open sessions with other managers, and for whom each of them may speak."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
from tests.unit.engine.station import parcel
from tests.unit.transports.mqqb.joined import PEER, ack, establish, parameters
from tests.unit.transports.wires import PORT, Net, Peer, Station, pair

from openmsmq.engine.arrivals.duplicates import Owner
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.net.wire import Wire
from openmsmq.packet.acks import OrderAckBody, ack_body
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import Packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge
from openmsmq.transports.mqqb import session_table as module
from openmsmq.transports.mqqb.events import SessionEnd as Reason
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.received_acks import FORGED
from openmsmq.transports.mqqb.session_table import VERIFY_EVERY, SessionTable
from openmsmq.transports.peers.peer import Peer as PeerOfLinks
from openmsmq.types.message import Message

TO_B = r"DIRECT=OS:b\private$\q"
HERE = r"DIRECT=OS:b\private$" + "\\"


def messages(*texts: str) -> list[Message]:
    return [Message(text.encode()) for text in texts]


def claim(net: Net, station: Station, peer: UUID, address: str = "10.0.0.9") -> Peer:
    """Someone opens a session from an address and says which manager it is."""
    dialled = net.dial(station, address)
    dialled.send(establish(peer, station.transport.identity), parameters())
    net.run()
    dialled.packets()
    return dialled


def link_from(station: Station, address: str) -> Link:
    """The session that someone opened from an address."""
    (link,) = [link for link in station.transport.links if link.address == address]
    return link


def transactional(number: int, source: UUID = PEER) -> bytes:
    """A transactional message, the next of its sequence."""
    return parcel(
        str(number),
        number=number,
        to=HERE + "q",
        source=source,
        place=(1, number, number - 1),
        admin=None,
    )


def order_acks(packets: list[Packet]) -> list[int]:
    """Up to which numbers messages were acknowledged in order."""
    bodies = [
        ack_body(PacketView(packet.encode()))
        for packet in packets
        if isinstance(packet, UserMessage)
    ]
    return [body.tx_sequence_number for body in bodies if isinstance(body, OrderAckBody)]


# What is learned


def test_a_manager_that_answers_when_it_is_dialled_is_known() -> None:
    net, a, b = pair()
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    identity = b.local.identity
    known = a.transport.known.get(identity)
    assert known is not None
    assert (known.names, known.address, known.port) == (("B",), b.host, PORT)
    assert a.restart_here().transport.known.get(identity) == known
    assert b.transport.known.get(a.local.identity) is None, "it came by itself"


def test_another_manager_at_a_name_replaces_the_one_before_and_that_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    net, a, b = pair()
    name = rf"DIRECT=TCP:{b.host}\private$\q"
    a.send(a.out(name), *messages("1"))
    net.wait(1)
    b.die()
    net.stations[b.host, PORT] = c = Station(net, "c")
    c.create("q")
    a.send(a.out(name), *messages("2"))
    with caplog.at_level(logging.WARNING):
        net.wait(6)
    assert c.texts("q") == ["2"]
    assert a.transport.known.get(b.local.identity) is None
    assert a.transport.known.get(c.local.identity) is not None
    assert "another manager answers" in caplog.text


def test_where_a_manager_is_pinned_no_other_is_given_messages() -> None:
    net, a, b = pair()
    a.transport.known.configure(Identity.ADDRESS, {"B": Pin(UUID(int=5))})
    a.send(a.out(TO_B), *messages("1"))
    net.wait(6)
    assert b.texts("q") == []
    assert a.ended(Reason.NOT_PINNED) >= 1
    assert a.transport.known.get(b.local.identity) is None
    a.transport.known.configure(Identity.ADDRESS, {"B": Pin(b.local.identity)})
    net.wait(6)
    assert b.texts("q") == ["1"]


def test_sessions_are_entitled_anew_when_their_manager_is_found() -> None:
    """It came by itself first, and is a known peer when it answered."""
    net, a, b = pair()
    a.create("back")
    b.send(b.out(r"DIRECT=OS:a\private$\back"), *messages("1"))
    net.run()
    (link,) = a.transport.links
    assert (link.origin.is_proven, link.origin.is_known) == (True, False)
    assert link.origin.owner == Owner(b.host, is_known=False)
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    assert (link.origin.is_proven, link.origin.is_known) == (True, True)


def test_what_a_manager_sent_as_a_stranger_is_not_forgotten_for_other_strangers() -> None:
    """It is known from the moment that it answers."""
    net, a, b = pair()
    a.create("t", transactional=True)
    b.send_in(b.out(r"DIRECT=OS:a\private$\t"), *messages("1"))
    net.run()
    incoming = a.local.incoming
    assert incoming._stranger_count == 1
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    assert incoming._stranger_count == 0
    assert len(incoming) == 1


@pytest.mark.parametrize("transactional", [True, False])
def test_strangers_cannot_make_themselves_known_by_what_they_have_us_send(
    transactional: bool,
) -> None:
    """An acknowledgement has them dialled; any number of identities could answer then."""
    net, a, _ = pair()
    a.create("in", transactional=transactional)
    dialled: list[Peer] = []

    def answer(wire: Wire) -> Peer:
        dialled.append(Peer())
        return dialled[-1].meet(wire)

    net.listeners["10.0.0.66", PORT] = answer
    stranger = claim(net, a, PEER, "10.0.0.66")
    stranger.send(
        parcel(
            "1",
            to=r"DIRECT=OS:a\private$\in",
            source=PEER,
            acknowledge=Acknowledge.NONE if transactional else Acknowledge.POS_RECEIVE,
            admin=None if transactional else r"DIRECT=TCP:10.0.0.66\private$\admin",
            place=(1, 1, 0) if transactional else None,
            wants_final=transactional,
        )
    )
    net.run()
    stranger.close()
    net.run()
    a.receive(a.local.find_queue("in"))
    net.wait(1)
    dialled[0].send(establish(a.transport.identity, PEER), parameters())
    net.wait(1)
    assert [item for item in dialled[0].packets() if isinstance(item, UserMessage)]
    assert len(a.transport.known) == 0


# Sessions that come from elsewhere


def known_b() -> tuple[Net, Station, Station]:
    """The first manager knows where the other is."""
    net, a, b = pair(transactional=True)
    b.create("plain")
    a.send(a.out(r"DIRECT=OS:b\private$\plain"), *messages("1"))
    net.wait(1)
    return net, a, b


def test_a_session_from_elsewhere_than_its_manager_is_proves_nothing() -> None:
    net, a, b = known_b()
    claim(net, a, b.local.identity)
    origin = link_from(a, "10.0.0.9").origin
    assert (origin.is_proven, origin.is_known, origin.is_relay) == (False, False, False)


def test_before_that_is_called_a_conflict_the_manager_is_dialled_again() -> None:
    """At most once a minute; it is followed if it answers elsewhere now."""
    net, a, b = known_b()
    for end in net.between(a, b):
        end.cut()
    net.wait(1)
    net.tries.clear()
    moved = "10.0.0.9"
    net.stations[moved, PORT] = b
    del net.stations[b.host, PORT]
    b.host = moved
    a.transport.addresses._configured["B"] = (moved, PORT)
    claim(net, a, b.local.identity, moved)
    net.run()
    assert [(item.host, item.port) for item in net.tries] == [(moved, PORT)]
    known = a.transport.known.get(b.local.identity)
    assert known is not None
    assert known.address == moved
    assert all(link.origin.is_proven for link in a.transport.links)


def test_it_is_not_dialled_for_every_session_from_elsewhere() -> None:
    net, a, b = known_b()
    b.die()
    net.wait(5)
    net.tries.clear()
    for _ in range(5):
        claim(net, a, b.local.identity)
    assert len(net.tries) == 1
    net.wait(VERIFY_EVERY)
    claim(net, a, b.local.identity)
    assert len(net.tries) == 2


def test_a_pinned_manager_is_dialled_when_a_session_claims_to_be_it() -> None:
    """Until it has answered, nothing proves that the session is of it."""
    net, a, b = pair()
    identity = b.local.identity
    a.transport.known.configure(Identity.PINNED, {"B": Pin(identity, address="b.example.com")})
    b.is_up = False
    claim(net, a, identity, "10.0.0.66")
    claim(net, a, identity, b.host)
    net.wait(5)
    assert not link_from(a, b.host).origin.is_proven
    b.is_up = True
    net.wait(VERIFY_EVERY)
    claim(net, a, identity, "10.0.0.67")
    assert link_from(a, "10.0.0.66").origin.is_proven is False
    assert link_from(a, "10.0.0.67").origin.is_proven is False
    (true,) = [link for link in a.transport.links if link.address == b.host and not link.dialled]
    assert true.origin.is_proven


def test_in_mode_claimed_nothing_is_dialled_again() -> None:
    net, a, b = known_b()
    a.transport.known.configure(Identity.CLAIMED, {})
    net.tries.clear()
    claim(net, a, b.local.identity)
    assert net.tries == []
    assert link_from(a, "10.0.0.9").origin.is_proven


def test_how_many_managers_were_dialled_again_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "VERIFIED_MAX", 3)
    net = Net()
    b = Station(net, "b")
    for at in range(1, 9):
        b.transport.known.learned(UUID(int=at), f"N{at}", "10.0.0.1", PORT)
        claim(net, b, UUID(int=at))
    assert len(b.transport.session_table._verified) == 3


# Several sessions of one identity


def test_two_sessions_of_one_identity_from_two_places_live_side_by_side(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Cloned machines do this: neither displaces the other, and both are named."""
    net, _, b = pair()
    with caplog.at_level(logging.WARNING):
        one = claim(net, b, PEER, "10.0.0.8")
        two = claim(net, b, PEER, "10.0.0.9")
    assert b.transport.session_table.clones == {PEER: ("10.0.0.8", "10.0.0.9")}
    assert "one identity in several places" in caplog.text
    assert len(b.transport.session_table.of(PEER)) == 2
    assert not any(link.is_superseded for link in b.transport.links)
    one.send(parcel("1", to=HERE + "q", source=PEER, number=1, admin=None))
    two.send(parcel("2", to=HERE + "q", source=PEER, number=2, admin=None))
    net.run()
    assert sorted(b.texts("q")) == ["1", "2"]
    assert not one.is_lost
    assert not two.is_lost


def test_sessions_from_one_place_are_no_clones() -> None:
    net, _, b = pair()
    for address in ("127.0.0.1", "::1", "127.0.0.2"):
        claim(net, b, PEER, address)
    assert b.transport.session_table.clones == {}


def test_the_clones_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLONES_MAX", 2)
    net, _, b = pair()
    for at in range(1, 5):
        claim(net, b, UUID(int=at), "10.0.0.8")
        claim(net, b, UUID(int=at), "10.0.0.9")
    assert list(b.transport.session_table.clones) == [UUID(int=3), UUID(int=4)]


def test_a_newer_session_from_the_same_place_takes_over_what_the_older_one_carried() -> None:
    """The older one may be half open: what was sent on it is sent again at once."""
    net, a, b = known_b()
    ends = net.between(a, b)
    for end in ends:
        end.cut()
    net.stations.pop((b.host, PORT))
    first = claim(net, a, b.local.identity, b.host)
    admin = f"PRIVATE={b.local.identity}\\00000009"
    a.create("in")
    wanting = parcel(
        "1",
        to=r"DIRECT=OS:a\private$\in",
        source=b.local.identity,
        acknowledge=3,  # type: ignore[arg-type] # as the header has it
        admin=admin,
    )
    first.send(wanting)
    net.run()
    assert len([item for item in first.packets() if isinstance(item, UserMessage)]) == 1
    older = link_from(a, b.host)
    assert len(a.transport.carried_by(older)) == 1
    second = net.dial(a, b.host)
    second.send(establish(b.local.identity, a.transport.identity), parameters())
    net.run()
    assert older.is_superseded
    assert not a.transport.carried_by(older)
    assert len([item for item in second.packets() if isinstance(item, UserMessage)]) == 1
    (newer,) = [link for link in a.transport.links if a.transport.carried_by(link)]
    assert newer is not older
    assert not first.is_lost


def test_a_flood_of_sessions_costs_each_of_them_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older one is replaced once, and one that carried nothing has no queue to be looked for."""
    net, a, b = known_b()
    replaced: list[int] = []
    looked: list[Link] = []
    add, carried_by = SessionTable.add, PeerOfLinks.carried_by

    def adding(table: SessionTable, link: Link, now: float) -> list[Link]:
        found = add(table, link, now)
        replaced.append(len(found))
        return found

    def looking(peer: PeerOfLinks[Link], link: Link) -> list[ManagedQueue]:
        looked.append(link)
        return carried_by(peer, link)

    monkeypatch.setattr(SessionTable, "add", adding)
    monkeypatch.setattr(PeerOfLinks, "carried_by", looking)
    sessions = [claim(net, a, PEER) for _ in range(5)]
    for session in sessions:
        session.close()
    net.run()
    assert replaced == [0, 1, 1, 1, 1]
    assert looked == []
    for end in net.between(a, b):
        end.cut()
    net.run()
    assert looked, "what a lost session carried goes again"


def test_an_order_ack_follows_the_session_that_brought_the_last_message() -> None:
    """81 s were lost to a half-open session once."""
    net, _, b = pair(transactional=True)
    old = claim(net, b, PEER, "10.0.0.8")
    old.send(transactional(1))
    net.run()
    new = claim(net, b, PEER, "10.0.0.8")
    new.send(transactional(2))
    net.wait(1)
    assert order_acks(new.packets()) == [2]
    assert order_acks(old.packets()) == []


def test_an_order_ack_that_waits_goes_when_a_session_of_that_identity_opens() -> None:
    net, _, b = pair(transactional=True)
    old = claim(net, b, PEER, "10.0.0.8")
    old.send(transactional(1))
    net.run()
    old.close()
    net.wait(5)
    other = claim(net, b, UUID(int=5), "10.0.0.8")
    net.wait(1)
    assert order_acks(other.packets()) == []
    new = net.dial(b, "10.0.0.8")
    new.send(establish(PEER, b.transport.identity), parameters())
    net.wait(1)
    assert order_acks(new.packets()) == [1]
    assert not [queue for queue in b.local.queues.everything if queue.transfer]


def test_an_order_ack_never_goes_by_a_session_that_claims_the_identity_from_elsewhere() -> None:
    """Its state is another one, when the table says where the manager is."""
    net, a, b = known_b()
    identity = b.local.identity
    b.die()
    true = claim(net, a, identity, b.host)
    a.create("t", transactional=True)
    true.send(
        parcel(
            "1",
            to=r"DIRECT=OS:a\private$\t",
            source=identity,
            place=(1, 1, 0),
            admin=None,
        )
    )
    net.run()
    assert a.texts("t") == ["1"]
    true.close()
    net.run()
    liar = net.dial(a, "10.0.0.9")
    liar.send(establish(identity, a.transport.identity), parameters())
    net.wait(5)
    assert order_acks(liar.packets()) == []
    again = net.dial(a, b.host)
    again.send(establish(identity, a.transport.identity), parameters())
    net.wait(1)
    assert order_acks(again.packets()) == [1]


# Messages for a manager by its identity


def test_messages_for_an_identity_go_only_to_a_manager_that_answered_with_it() -> None:
    """Not to a session that claims it."""
    net, a, b = pair()
    identity = b.local.identity
    number = b.local.find_queue("q").number
    liar = claim(net, a, identity)
    del net.stations[b.host, PORT]
    queue = a.out(f"PRIVATE={identity}\\{number:08x}")
    a.send(queue, *messages("secret"))
    net.wait(30)
    assert not [item for item in liar.packets() if isinstance(item, UserMessage)]
    assert queue.messages == 1
    assert ("10.0.0.9", PORT) in [(item.host, item.port) for item in net.tries]
    net.stations[b.host, PORT] = b
    a.send(a.out(TO_B), *messages("by name"))
    net.wait(6)
    assert sorted(b.texts("q")) == ["by name", "secret"]
    assert not [item for item in liar.packets() if isinstance(item, UserMessage)]


@pytest.mark.parametrize("mode", list(Identity))
@pytest.mark.parametrize("is_claimed", [True, False])
def test_messages_for_a_pinned_identity_go_where_the_configuration_says(
    mode: Identity, is_claimed: bool
) -> None:
    """No matter who claims it, and though it was never dialled."""
    net, a, b = pair()
    identity = b.local.identity
    number = b.local.find_queue("q").number
    a.transport.known.configure(mode, {"B": Pin(identity, address=b.host)})
    if is_claimed:
        claim(net, a, identity, "10.0.0.66")
    a.send(a.out(f"PRIVATE={identity}\\{number:08x}"), *messages("secret"))
    net.wait(6)
    assert b.texts("q") == ["secret"]
    assert {item.host for item in net.tries} <= {b.host}
    known = a.transport.known.get(identity)
    assert known is not None
    assert known.address == b.host


def test_acknowledgements_for_an_identity_go_by_its_own_sessions_too() -> None:
    """Most senders are never dialled."""
    net, a, _ = pair()
    a.create("in")
    peer = claim(net, a, PEER, "10.0.0.8")
    liar = claim(net, a, UUID(int=5), "10.0.0.9")
    peer.send(
        parcel(
            "1",
            to=r"DIRECT=OS:a\private$\in",
            source=PEER,
            acknowledge=3,  # type: ignore[arg-type] # as the header has it
            admin=f"PRIVATE={PEER}\\00000009",
        )
    )
    net.run()
    assert len([item for item in peer.packets() if isinstance(item, UserMessage)]) == 1
    assert not [item for item in liar.packets() if isinstance(item, UserMessage)]


def test_acknowledgements_for_an_identity_are_brought_where_its_message_came_from() -> None:
    """Days after its session is over, and after a restart (AMB-33)."""
    net, a, _ = pair()
    a.create("in")
    peer = claim(net, a, PEER, "10.0.0.8")
    peer.send(
        parcel(
            "1",
            to=r"DIRECT=OS:a\private$\in",
            source=PEER,
            acknowledge=Acknowledge.POS_RECEIVE,
            admin=f"PRIVATE={PEER}\\00000009",
        )
    )
    net.run()
    peer.close()
    net.run()
    a = a.restart_here()
    dialled = Peer()
    net.listeners["10.0.0.8", PORT] = dialled.meet
    a.receive(a.local.find_queue("in"))
    net.wait(1)
    dialled.send(establish(a.transport.identity, PEER), parameters())
    net.wait(1)
    assert len([item for item in dialled.packets() if isinstance(item, UserMessage)]) == 1


def test_acknowledgements_for_a_known_manager_do_not_go_to_who_claims_to_be_it() -> None:
    net, a, b = known_b()
    identity = b.local.identity
    b.die()
    net.wait(1)
    a.create("in")
    liar = claim(net, a, identity)
    liar.send(
        parcel(
            "1",
            to=r"DIRECT=OS:a\private$\in",
            source=identity,
            acknowledge=3,  # type: ignore[arg-type] # as the header has it
            admin=f"PRIVATE={identity}\\00000009",
        )
    )
    net.wait(30)
    assert a.texts("in") == ["1"]
    assert not [item for item in liar.packets() if isinstance(item, UserMessage)]


# Acknowledgements from either side


def test_a_stranger_s_order_ack_over_a_session_of_its_own_removes_nothing() -> None:
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    for end in net.ends:
        end.is_held = True
    a.send_in(queue, *messages("1", "2"))
    net.run()
    sequence = queue.sequences.all[0]
    stranger = claim(net, a, PEER)
    origin = link_from(a, "10.0.0.9").origin
    a.enter(lambda: a.transport.received_acks.ordered(origin, sequence.identifier, 2))
    assert queue.messages == 2
    assert a.count(FORGED) == 1
    assert not stranger.is_lost
    net.wait(1)
    assert queue.messages == 0
    assert b.texts("q") == ["1", "2"]


def test_the_receiver_may_acknowledge_by_a_session_that_it_opened_itself() -> None:
    net, a, b = pair(transactional=True)
    a.create("back")
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.run()
    sequence = queue.sequences.all[0]
    assert sequence.peers == (b.local.identity,)
    b.send(b.out(r"DIRECT=OS:a\private$\back"), *messages("x"))
    net.run()
    (accepted,) = [link for link in a.transport.links if not link.is_initiator]
    a.enter(lambda: a.transport.received_acks.ordered(accepted.origin, sequence.identifier, 1))
    assert queue.messages == 0


def test_a_session_that_is_over_is_forgotten() -> None:
    net, _, b = pair()
    peer = claim(net, b, PEER)
    sessions: SessionTable = b.transport.session_table
    assert len(sessions.of(PEER)) == 1
    peer.send(ack())
    peer.close()
    net.run()
    assert sessions.of(PEER) == ()


def test_messages_for_a_known_identity_do_not_go_to_another_name_that_answers_with_it() -> None:
    """A program here has it dialled, and it says that it is the manager known elsewhere."""
    net, a, b = known_b()
    identity = b.local.identity
    number = b.local.find_queue("plain").number
    b.die()
    net.wait(1)
    liars: list[Peer] = []

    def answer(wire: Wire) -> Peer:
        liars.append(Peer())
        return liars[-1].meet(wire)

    net.listeners["10.0.0.66", PORT] = answer
    a.send(a.out(r"DIRECT=TCP:10.0.0.66\private$\bait"), *messages("bait"))
    net.run()
    liars[0].send(establish(a.transport.identity, identity), parameters())
    net.run()
    assert [link.session.peer for link in a.transport.links] == [identity]
    queue = a.out(f"PRIVATE={identity}\\{number:08x}")
    a.send(queue, *messages("secret"))
    net.wait(30)
    assert b"bait" in liars[0].data
    assert b"secret" not in liars[0].data
    assert queue.messages == 1
