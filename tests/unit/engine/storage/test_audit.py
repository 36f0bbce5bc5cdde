"""The audit log."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import NOW, World, commit, commit_all

from openmsmq.engine.storage.audit import NOT_RECORDED
from openmsmq.engine.storage.limits import AUDIT_TEXT_MAX, DENIALS_AT_ONCE, DENIALS_PER_SECOND
from openmsmq.errors import StorageFull
from openmsmq.types.caller import INTERNAL, Caller, Grant
from openmsmq.types.history import AuditEntry, FileChange

ANNA = Caller("a program", Grant("admin", user="anna"))


@pytest.fixture
def world() -> World:
    return World()


def entries(world: World, after: int = 0) -> list[AuditEntry]:
    commit_all(world.core)
    return list(world.core.audit.entries(world.core.snapshot, after))


def test_acts_and_denials_are_kept_in_their_order(world: World) -> None:
    audit = world.core.audit
    audit.acted(ANNA, "create queue", "q", "as asked")
    audit.denied(ANNA, "open", "r", "no entry")
    audit.acted(INTERNAL, "purge", "what the manager does itself")
    first, second = entries(world)
    assert (first.number, first.who, first.act, first.target) == (
        1,
        "user:anna",
        "create queue",
        "q",
    )
    assert (first.allowed, first.reason, first.by) == (True, "as asked", "a program")
    assert int(first.time.timestamp()) == NOW
    assert (second.number, second.allowed, second.reason) == (2, False, "no entry")
    assert entries(world, after=1) == [second]
    assert entries(world, after=1 << 70) == []


def test_the_log_lasts(world: World) -> None:
    world.core.audit.acted(ANNA, "create queue", "q")
    before = entries(world)
    again = world.restart()
    assert entries(again) == before
    again.core.audit.acted(ANNA, "delete queue", "q")
    assert [entry.number for entry in entries(again)] == [1, 2]


def test_when_it_is_full_the_oldest_are_dropped(world: World) -> None:
    audit = world.core.audit
    audit.limit = 2000
    for number in range(100):
        audit.acted(ANNA, "configure", str(number))
        commit(world.core)
    found = entries(world)
    assert found[-1].target == "99"
    assert 10 < len(found) < 100
    assert [entry.number for entry in found] == list(range(101 - len(found), 101))
    assert audit.state[2] <= 2000


def test_nothing_is_kept_when_it_is_off(world: World) -> None:
    world.done(world.core.configure(audit=0))
    world.core.audit.acted(ANNA, "configure", "")
    world.core.audit.denied(ANNA, "open", "", "")
    assert entries(world) == []


def test_denials_that_come_too_fast_are_counted(world: World) -> None:
    """No caller drives out what others did."""
    audit = world.core.audit
    for number in range(DENIALS_AT_ONCE + 50):
        audit.denied(ANNA, "open", str(number), "no")
    assert len(entries(world)) == DENIALS_AT_ONCE
    audit.acted(ANNA, "configure", "is always kept")
    *_, missing, last = entries(world)
    assert (missing.act, missing.reason) == (NOT_RECORDED, "50 more denied: too many in a second")
    assert last.act == "configure"
    world.pass_time(1)
    for number in range(DENIALS_PER_SECOND + 5):
        audit.denied(ANNA, "open", str(number), "no")
    assert len(entries(world)) == DENIALS_AT_ONCE + 2 + DENIALS_PER_SECOND


def test_long_texts_are_cut(world: World) -> None:
    world.core.audit.denied_to("w" * 999, "a", "\udc80" + "t" * 999, "r" * 999, "b" * 999)
    [found] = entries(world)
    texts = (found.who, found.target, found.reason, found.by)
    assert {len(text) for text in texts} == {AUDIT_TEXT_MAX}


def test_a_commit_that_fails_loses_its_entries_and_no_others(world: World) -> None:
    audit = world.core.audit
    audit.acted(ANNA, "configure", "1")
    commit(world.core, StorageFull("no room"))
    assert audit.lost == 1
    audit.acted(ANNA, "configure", "2")
    assert [entry.target for entry in entries(world)] == ["2"]


def test_entries_that_come_during_a_commit_are_written_by_the_next(world: World) -> None:
    core = world.core
    core.audit.acted(ANNA, "configure", "1")
    core.start_commit(core.store.begin())
    core.audit.acted(ANNA, "configure", "2")
    core.store.commit()
    core.finish_commit()
    assert [entry.target for entry in entries(world)] == ["1", "2"]


def test_what_others_did_to_a_file_is_taken_in_once(world: World) -> None:
    audit = world.core.audit
    change = FileChange(1, NOW, "user:anna", "create token", "t", "", "a command")
    audit.follow("tokens", [change], "as written", edit="")
    commit(world.core)
    assert not world.core.wants_commit, "all of it is written"
    audit.follow("tokens", [change], "as written", edit="")
    assert not world.core.wants_commit, "there is nothing new"
    audit.follow("tokens", [change], "by hand", edit="")
    commit(world.core)
    audit.follow("tokens", [change], "by hand once more", edit="it is of another user")
    commit(world.core)
    assert [(entry.act, entry.target, entry.reason) for entry in entries(world.restart())] == [
        ("create token", "t", ""),
        ("edit file", "tokens", "it is not as the last command wrote it"),
        ("edit file", "tokens", "it is of another user"),
    ]
