"""Units of work that programs decide, and their participants."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.app_server.programs import House, Program, refused, served, until

from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
)
from openmsmq.types.units import unit_name

OTHERS = ["postgresql 1/shop", "manager 7"]


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
    monkeypatch.setattr("openmsmq.app_server.units.UNITS_KEPT", 2)
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
