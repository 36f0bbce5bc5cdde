"""A commit's work with messages of one session."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.world import World, letter

from openmsmq.engine.arrivals import arrival
from openmsmq.engine.arrivals.arrival import ArrivalWork, Origin, run_of
from openmsmq.engine.arrivals.duplicates import Owner
from openmsmq.engine.commit.batch import Batch

A, B = UUID(int=10).bytes_le, UUID(int=11).bytes_le


def test_a_commit_begins_with_nothing() -> None:
    core = World().core
    batch = Batch(core.store.begin(), core.numbers, 0, core.history, core.statistics)
    origin = Origin("192.0.2.9", "partner")
    work = ArrivalWork(batch, origin)
    assert work.batch is batch
    assert work.origin is origin
    found = [work.new, work.sizes, work.keys, work.sequences, work.orders, work.outcome.progress]
    assert not any(found)
    assert work.size == 0
    core.store.abort()


@pytest.mark.parametrize("place", [2, 3, 12, 51, 60])
def test_a_message_that_differs_in_a_header_is_not_like_the_others(place: int) -> None:
    """Flags of the BaseHeader, times, source, flags and names; sizes and identifier may differ."""
    world = World()
    message = letter("a", number=1)
    run = run_of(message.packet, world.queue(), (A,), b"", message, 0)
    assert run.fits(message.packet)
    other = bytearray(letter("and more", number=2).packet)
    assert run.fits(bytes(other))
    other[place] ^= 0x80
    assert not run.fits(bytes(other))


def test_a_session_takes_messages_until_one_is_refused() -> None:
    assert not Origin("192.0.2.9", "partner").is_refused


def test_what_is_waiting_for_a_commit_is_ahead_until_that_begins() -> None:
    origin = Origin("192.0.2.9", "partner")
    origin.waiting.append([(b"packet", None)])
    origin.ahead.add(World().queue("q"))
    origin.applied()
    assert not origin.waiting
    assert not origin.ahead


# For whom it may speak


def session(
    peer: bytes = A,
    *,
    proven: bool = True,
    relay: bool = False,
    known: bool = False,
    address: str = "192.0.2.9",
) -> Origin:
    origin = Origin(address, "partner")
    origin.entitle(peer, is_proven=proven, is_relay=relay, is_known=known)
    return origin


def test_a_session_that_proves_to_be_of_the_source_speaks_for_it() -> None:
    """What it brought before it could prove it is looked at, too."""
    scopes = session().scopes(A)
    assert scopes[0] == A
    assert session(proven=False).scopes(A)[0] in scopes[1:]


def test_one_that_does_not_has_keys_of_its_own_and_looks_at_the_source_s() -> None:
    for scopes in (session(proven=False).scopes(A), session().scopes(B)):
        assert scopes[0] not in (A, B)
    assert session(proven=False).scopes(A)[1] == A
    assert session().scopes(B)[1] == B


def test_a_relay_speaks_for_every_source() -> None:
    """What it brought before it was one is looked at, too."""
    scopes = session(relay=True).scopes(B)
    assert scopes[0] == B
    assert session().scopes(B)[0] in scopes[1:]
    assert session(proven=False).scopes(B)[0] in scopes[1:]


def test_sessions_from_two_places_that_prove_nothing_have_nothing_in_common() -> None:
    one = session(proven=False, address="192.0.2.1").scopes(A)
    two = session(proven=False, address="192.0.2.2").scopes(A)
    assert set(one) & set(two) == {A}


def test_when_its_right_changes_so_do_its_keys() -> None:
    origin = session(proven=False)
    before = origin.scopes(A)
    assert origin.scopes(A) is before
    origin.entitle(A, is_proven=True)
    assert origin.scopes(A)[0] == A


def test_the_scopes_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "SCOPES_MAX", 10)
    origin = session()
    first = origin.scopes(B)
    for at in range(100):
        origin.scopes(UUID(int=at).bytes_le)
        assert len(origin._scopes) <= 10
    assert origin.scopes(B) == first


def test_a_known_peer_answers_for_what_it_brings_others_answer_by_network() -> None:
    assert session(known=True).owner == Owner(A.hex(), is_known=True)
    assert session(address="2001:db8:0:1::5").owner == Owner("2001:db8:0:1::", is_known=False)
    assert session(address="127.0.0.2").owner == session(address="::1", proven=False).owner


def test_what_no_manager_is_proven_for_is_kept_under_a_scope_of_its_own() -> None:
    origin = Origin("192.0.2.9", "partner")
    origin.isolate(b"sender", is_known=False)
    assert origin.scopes(A) == origin.scopes(B) == (b"sender",)
