"""Transactions of programs."""

from __future__ import annotations

import pytest
from tests.unit.app_server.programs import House, refused, served

from openmsmq.errors import (
    StorageFull,
    TransactionSequence,
)


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
        for _ in range(2):  # to repeat it changes nothing
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
        await refused(program.call(how, xid="unknown"), TransactionSequence)
