"""Transactions of programs, and units that they decide."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.app_server.programs import House, Program, refused, served, until

from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    StorageFull,
    TransactionSequence,
)
from openmsmq.types.units import unit_name

OTHERS = ["postgresql 1/shop", "manager 7"]


@served()
async def test_transactions_are_begun_and_ended(house: House) -> None:
    program = await house.program()
    works = [await program.transaction() for _ in range(3)]
    assert len(set(works)) == 3
    assert house.metrics.transactions == 3
    await program.call("commit", transaction=works[0])
    await program.call("abort", transaction=works[1])
    assert house.metrics.transactions == 1
    for work in works[:2]:
        for how in ("commit", "abort", "prepare"):
            await refused(program.call(how, transaction=work), TransactionSequence)
    await refused(program.call("prepare", transaction=works[2]), TransactionSequence)
    await program.call("abort", transaction=works[2])
    assert house.metrics.transactions == 0


@served()
async def test_a_commit_that_fails_can_be_tried_again(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "a", transaction=work)
    house.store.refuse = {"commit": StorageFull("broken")}
    await refused(program.call("commit", transaction=work), StorageFull)
    assert house.metrics.transactions == 1
    await program.call("commit", transaction=work)
    assert await program.peek(handle) == ["a"]


@pytest.mark.parametrize("by_name", [True, False], ids=["by name", "by number"])
@pytest.mark.parametrize(("how", "left"), [("commit", ["a"]), ("abort", [])])
@served()
async def test_what_is_prepared_waits_for_its_outcome(
    house: House, how: str, left: list[str], by_name: bool
) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction("tx-1")
    await program.send(handle, "a", transaction=work)
    await program.call("prepare", transaction=work)
    assert house.metrics.transactions == 0
    await refused(program.send(handle, "b", transaction=work), TransactionSequence)
    assert (await program.call("prepared"))["xids"] == ["tx-1"]
    await refused(program.transaction("tx-1"), TransactionSequence)
    if by_name:
        for _ in range(2):  # to repeat it does no harm
            await program.call(f"{how}_prepared", xid="tx-1")
    else:
        await program.call(how, transaction=work)
    assert house.queue().messages == len(left)
    assert (await program.call("prepared"))["xids"] == []
    other = "abort" if how == "commit" else "commit"
    await refused(program.call(f"{other}_prepared", xid="tx-1"), TransactionSequence)
    await refused(program.call(how, transaction=work), TransactionSequence)


@served()
async def test_what_others_have_decided_is_forgotten(house: House) -> None:
    program, other = await house.program(), await house.program()
    for number in range(3):
        work = await program.transaction(f"tx-{number}")
        await program.call("prepare", transaction=work)
        await other.call("commit_prepared", xid=f"tx-{number}")
    kept = [len(session.prepared) for session in house.server.sessions]
    assert sum(kept) == 1, "the last: only to prepare another one tells"


@served()
async def test_an_epoch_is_committed_once(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    xids = ["w:1:0", "w:1:1"]
    for xid in xids:
        work = await program.transaction(xid)
        await program.send(handle, xid, transaction=work)
        await program.call("prepare", transaction=work)
    asked = {"query": "w", "epoch": 1, "winners": xids}
    assert (await program.call("commit_epoch", **asked))["applied"] is True
    assert (await program.call("commit_epoch", **asked))["applied"] is False
    assert sorted(await program.peek(handle)) == xids


@served()
async def test_a_name_is_one_of_a_prepared_transaction(house: House) -> None:
    program = await house.program()
    for how in ("commit_prepared", "abort_prepared"):
        await refused(program.call(how, xid="nobody"), TransactionSequence)


# Units


def name_of(house: House, number: int = 0) -> str:
    return unit_name(house.local.identity, f"{number:024x}")


async def decided(house: House, program: Program) -> str:
    """A unit that waits for its participants."""
    unit = name_of(house)
    work = await program.transaction(unit)
    await program.call("commit", transaction=work, participants=OTHERS)
    return unit


async def state(program: Program, unit: str) -> object:
    return (await program.call("unit_states", xids=[unit]))["states"][unit]


@served()
async def test_a_unit_is_decided_and_confirmed(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    unit = name_of(house)
    work = await program.transaction(unit)
    await program.send(handle, "a", transaction=work)
    assert await state(program, unit) == "active"
    await program.call("commit", transaction=work, participants=OTHERS)
    assert await program.peek(handle) == ["a"]
    assert await state(program, unit) == "committing"
    await program.call("finish_unit", xid=unit, confirmed=OTHERS[:1])
    found = (await program.call("units"))["units"]
    assert found == [{"name": unit, "state": "committed", "age": 0, "waiting": OTHERS[1:]}]
    await program.call("finish_unit", xid=unit, confirmed=OTHERS)
    assert (await program.call("units"))["units"] == []
    assert await state(program, unit) == "committed"
    assert await state(program, name_of(house, 1)) == "aborted"


@served()
async def test_who_tells_the_participants_is_seen_as_long_as_it_is_connected(house: House) -> None:
    program, other = await house.program(), await house.program()
    unit = await decided(house, program)
    assert await state(other, unit) == "committing"
    program.cut()
    await until(lambda: len(house.server.sessions) == 1)
    assert await state(other, unit) == "committed"


@served()
async def test_a_unit_that_is_decided_when_its_program_is_gone_is_left_to_others(
    house: House,
) -> None:
    program, other = await house.program(), await house.program()
    unit = name_of(house)
    work = await program.transaction(unit)
    house.store.gate.clear()
    program.begin("commit", transaction=work, participants=OTHERS)
    await until(lambda: house.local.is_committing)
    program.cut()
    await until(lambda: len(house.server.sessions) == 1)
    house.store.gate.set()
    await until(lambda: house.local.units.decided)
    assert await state(other, unit) == "committed"


@served()
async def test_a_program_gone_before_its_decision_leaves_nothing(house: House) -> None:
    program, other = await house.program(), await house.program()
    unit = name_of(house)
    await program.transaction(unit)
    program.cut()
    await until(lambda: len(house.server.sessions) == 1)
    assert await state(other, unit) == "aborted"


@served()
async def test_a_connection_forgets_units_that_others_have_finished(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openmsmq.app_server.transactions.UNITS_KEPT", 2)
    program, other = await house.program(), await house.program()
    for number in range(5):
        work = await program.transaction(name_of(house, number))
        await program.call("commit", transaction=work, participants=OTHERS)
        await other.call("finish_unit", xid=name_of(house, number), confirmed=OTHERS)
    assert sorted(len(session.units.names) for session in house.server.sessions) == [0, 1]


@served()
async def test_only_a_unit_that_is_decided_here_has_participants(house: House) -> None:
    program = await house.program()
    elsewhere = unit_name(UUID(int=99), "0" * 24)
    for name in ("tx", elsewhere, ""):
        work = await program.transaction(name)
        asked = program.call("commit", transaction=work, participants=OTHERS)
        assert "participants" in await refused(asked, InvalidParameter)


@served()
async def test_who_knows_the_name_of_a_unit_may_end_its_part(house: House) -> None:
    program = await house.program()
    for number, how in enumerate(("commit", "abort")):
        unit = unit_name(UUID(int=99), f"{number:024x}")
        await program.call("prepare", transaction=await program.transaction(unit))
        await program.call("prepare", transaction=await program.transaction(f"tx-{number}"))
        other = await house.program(house.token("read+send"))
        await other.call(f"{how}_prepared", xid=unit)
        await refused(other.call(f"{how}_prepared", xid=f"tx-{number}"), AccessDenied)
    assert (await program.call("prepared"))["xids"] == ["tx-0", "tx-1"]
