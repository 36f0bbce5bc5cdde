"""What the application server does although no program asks for it."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from tests.unit.app_server.programs import House, bodies, refused, served, until
from tests.unit.engine.world import HandClock

from openmsmq.access.tokens import TOKENS_FILE, Tokens
from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_server import sweeper
from openmsmq.app_server.session import READ_AHEAD
from openmsmq.engine.transactions.abandoned import RETRY_S
from openmsmq.engine.transactions.transaction import TransactionState
from openmsmq.errors import (
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
    TransactionTimedOut,
)
from openmsmq.types.caller import Grant
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.units import unit_name

ABORTED = "transaction aborted"

# Tokens


@served()
async def test_who_came_in_with_a_token_goes_with_it(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    kept, token = house.tokens.create("admin")
    program, other = await house.program(token), await house.program(house.token("read"))
    handle = await program.create()
    await program.send(handle, "a")
    assert await program.read(handle)
    unknown = await house.program()
    Tokens.load(house.folder).revoke(kept.id)  # as another process would
    caplog.set_level("INFO")
    house.look()
    assert await program.closing() == "the token was revoked"
    assert house.metrics.rejected == {"token revoked": 1}
    [event] = [record for record in caplog.records if record.getMessage() == "token revoked"]
    assert event.__dict__["fields"]["token"] == kept.id
    assert await unknown.peek(await unknown.open("orders")) == ["a"], "it was held"
    house.look()
    await other.ping()
    assert house.metrics.rejected == {"token revoked": 1}


@served()
async def test_who_came_in_with_a_certificate_goes_with_its_entry(house: House) -> None:
    kept, taken = (Grant("read", certificate=f"CN={name}") for name in ("kept", "taken"))
    house.server.certificates.entries = {grant.certificate: grant for grant in (kept, taken)}
    stays = await house.program()
    [first] = house.server.sessions
    first.grant = kept
    goes = await house.program()
    [second] = [session for session in house.server.sessions if session is not first]
    second.grant = taken
    house.server.certificates.entries = {"CN=kept": kept, "CN=taken": Grant("send")}
    house.look()
    assert await goes.closing() == "the entry of CN=taken in tls.clients was changed"
    await stays.ping()
    assert house.metrics.rejected == {"certificate revoked": 1}


@served()
async def test_the_listener_lets_the_server_look_again_and_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "INTERVAL_S", 0.01)
    house.listener._tick()
    kept, token = house.tokens.create("read")
    program = await house.program(token)
    house.tokens.revoke(kept.id)
    assert await program.closing() == "the token was revoked"


@served()
async def test_a_token_whose_time_is_over_ends_the_connection(house: House) -> None:
    clock = HandClock()
    house.tokens = Tokens(house.folder, clock)
    house.server.tokens = house.tokens
    _, token = house.tokens.create("read", expires=int(clock.time) + 10)
    program = await house.program(token)
    clock.wait(9)
    house.look()
    await program.ping()
    clock.wait(2)
    house.look()
    assert await program.closing() == "the token has expired"
    assert house.metrics.rejected == {"token expired": 1}


@served()
async def test_a_token_that_allows_something_else_now_is_another_one(house: House) -> None:
    program = await house.program(house.token("admin"))
    file = house.folder / TOKENS_FILE
    file.write_text(file.read_text().replace('"admin"', '"read"'))
    house.look()
    assert await program.closing() == "the token was revoked"


@served()
async def test_who_is_in_stays_in_while_the_tokens_cannot_be_read(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    program = await house.program(house.token("admin"))
    file = house.folder / TOKENS_FILE
    text = file.read_text()
    file.write_text("{")
    for _ in range(3):
        house.look()
    await program.ping()
    assert [record.getMessage() for record in caplog.records] == ["tokens cannot be read"]
    file.write_text(text)
    house.look()
    await program.ping()
    file.unlink()
    house.look()
    assert await program.closing() == "the token was revoked"


@served()
async def test_nothing_is_looked_at_after_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "INTERVAL_S", 0.001)
    seen = 0
    tick = house.listener.sweeper.tick

    def count(now: float) -> None:
        nonlocal seen
        seen += 1
        tick(now)

    monkeypatch.setattr(house.listener.sweeper, "tick", count)
    house.listener._tick()
    await until(lambda: seen)
    await house.listener.stop("enough")
    before = seen
    await asyncio.sleep(0.01)
    assert seen == before


# Programs that are gone


@served(requests_max=1)
async def test_who_is_gone_is_missed_although_nothing_is_read_any_longer(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    program.begin_read(handle)
    for number in range(500):
        program.tell(Kind.PING, bytes(1000), number=number)
    await until(lambda: any(session.is_full for session in house.server.sessions))
    load = house.metrics.load()
    assert load.held_up == 1
    assert load.request_bytes > READ_AHEAD
    house.look()
    await other.ping()
    assert house.server.clients == 2, "it is still there"
    program.cut()
    await other.ping()
    assert house.server.clients == 2, "no one has noticed"
    house.look()
    await until(lambda: house.server.clients == 1)
    assert not house.queue().waiters
    assert house.metrics.load() == (0, 0)


# Transactions that no one ends


@served(idle_transaction_limit=60)
async def test_a_transaction_is_aborted_if_its_program_does_nothing_with_it(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    outside = await other.transaction()
    await other.send(await other.open("orders"), "a", transaction=outside)
    await other.call("commit", transaction=outside)
    work, second = await program.transaction("mine"), await program.transaction()
    assert bodies(await program.read(handle, transaction=work)) == ["a"]
    await program.send(handle, "b", transaction=work)
    house.look(59)
    assert house.metrics.transactions == 2
    house.look(61)
    assert house.metrics.transactions == 0
    assert house.metrics.aborted == {"idle": 2, "abandoned": 0}
    await until(lambda: not house.queue().holds)
    [found] = await other.read(await other.open("orders"), mode=app.PEEK)
    assert (bodies([found]), found.abort_count) == (["a"], 1)
    events = house.local.explain(ReceivedMessage(found.packet, lookup_id=1).id)
    assert (events[-1].event, events[-1].by) == ("aborted", "app.idle_transaction_limit")
    logged = [r.__dict__["fields"] for r in caplog.records if r.getMessage() == ABORTED]
    assert sorted(fields["name"] for fields in logged) == ["", "mine"]
    assert {(f["reason"], f["seconds"], f["client"]) for f in logged} == {
        ("idle", 60, "test at a local socket")
    }
    for asked in (
        program.send(handle, "c", transaction=work),
        program.read(handle, transaction=work),
        program.call("prepare", transaction=work),
        program.call("commit", transaction=work),
    ):
        assert "for more than 60 seconds" in await refused(asked, TransactionTimedOut)
    await program.call("abort", transaction=work)
    await program.call("abort", transaction=second)
    await refused(program.call("abort", transaction=work), TransactionSequence)
    await refused(program.call("commit", transaction=work), TransactionSequence)


@served(idle_transaction_limit=60)
async def test_whatever_is_done_with_it_counts(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    session = house.server.sessions[0]
    [begun] = session.transactions.values()
    for request in ("send", "read", "peek", "end"):
        begun.used = -1e9
        if request == "send":
            await program.send(handle, "a", transaction=work)
        elif request == "end":
            await refused(program.end(handle, 1, transaction=work), TransactionSequence)
        else:
            mode = app.PEEK if request == "peek" else app.TAKE
            await refused(program.read(handle, transaction=work, mode=mode), ReceiveTimeout)
        assert session.idle_transactions(session.now, 60) == [], request


@served(idle_transaction_limit=60)
async def test_a_read_that_waits_is_no_idleness(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    waiting = program.begin_read(handle, transaction=work)
    await program.ping()
    session = house.server.sessions[0]
    session.transactions[work].used = -1e9
    assert session.idle_transactions(session.now + 1000, 60) == []
    sending = await program.transaction()
    await program.send(handle, "a", transaction=sending)
    await program.call("commit", transaction=sending)
    assert bodies((await program.answer(waiting)).messages) == ["a"]
    answered = session.now + 2000
    assert session.idle_transactions(answered, 60) == [], "it has just been answered"
    assert session.idle_transactions(answered + 59, 60) == []
    assert session.idle_transactions(answered + 60, 60) == [work]


@pytest.mark.parametrize("gone", [False, True])
@served(idle_transaction_limit=60)
async def test_an_abort_that_fails_is_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    first = await program.transaction()
    await program.send(handle, "a", transaction=first)
    await program.call("commit", transaction=first)
    work = await program.transaction()
    assert await program.read(handle, transaction=work)
    session = house.server.sessions[0]
    house.store.refuse = {"commit": StorageFull("broken")}
    house.store.gate.clear()
    house.look(61)
    assert house.metrics.aborted["idle"] == 1
    assert house.metrics.transactions == 0
    await refused(program.send(handle, "b", transaction=work), TransactionTimedOut)
    if gone:
        program.cut()
        await until(lambda: session.is_over)
    house.store.gate.set()
    await until(lambda: house.local.abandoned_transactions)
    assert house.queue().holds, "the disk has refused the abort"
    house.clock.wait(RETRY_S)
    await other.ping()
    await until(lambda: not house.queue().holds)
    assert house.queue().messages == 1
    house.look(61)
    assert house.metrics.aborted["idle"] == 1


@served(idle_transaction_limit=60, abandon_prepared_after=60)
async def test_nothing_is_aborted_while_the_manager_stops(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await house.program()
    await program.transaction()
    await house.driver.close()
    house.look(61)
    assert house.metrics.aborted == {"idle": 0, "abandoned": 0}
    assert house.server.sessions[0].transactions
    house.metrics.transactions -= 1


@served()
async def test_without_limits_all_of_them_stay(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await house.program()
    await program.transaction()
    await program.call("prepare", transaction=await program.transaction("tx"))
    house.clock.wait(1e6)
    house.look(1e9)
    await program.ping()
    assert house.metrics.transactions == 1
    assert (await program.call("prepared"))["ages"] == {"tx": 1_000_000}


@served(abandon_prepared_after=3600)
async def test_a_prepared_transaction_that_no_one_decides_is_aborted(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    for xid in ("old", "new"):
        work = await program.transaction(xid)
        await program.send(handle, xid, transaction=work)
        await program.call("prepare", transaction=work)
        house.clock.wait(3000)
    house.look()
    await until(lambda: house.metrics.aborted["abandoned"])
    assert await program.call("prepared") == {"xids": ["new"], "ages": {"new": 3000}}
    logged = [r.__dict__["fields"] for r in caplog.records if r.getMessage() == ABORTED]
    assert [(f["reason"], f["name"], f["seconds"]) for f in logged] == [("abandoned", "old", 6000)]
    found = await refused(program.call("commit_prepared", xid="old"), TransactionSequence)
    assert found == "old was aborted before"
    await program.call("commit_prepared", xid="new")
    assert await program.peek(handle) == ["new"]


@served(abandon_prepared_after=10)
async def test_the_part_in_a_unit_waits_for_the_manager_that_decides(house: House) -> None:
    """SYS-087: who cannot be asked now can be asked later."""
    program = await house.program()
    unit = unit_name(UUID(int=99), "0" * 24)
    for name in (unit, "tx"):
        await program.call("prepare", transaction=await program.transaction(name))
    house.clock.wait(1000)
    house.look()
    await until(lambda: house.metrics.aborted["abandoned"])
    assert (await program.call("prepared"))["xids"] == [unit]


@served(abandon_prepared_after=10)
async def test_that_is_tried_again_as_well(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction("tx")
    await program.send(handle, "a", transaction=work)
    await program.call("prepare", transaction=work)
    house.local.audit.limit = 0  # what shares a commit with its entries is tried again without
    house.clock.wait(10)
    house.store.refuse = {"commit": StorageFull("broken")}
    house.store.gate.clear()
    house.look()
    house.look()  # one is under way
    house.store.gate.set()
    transaction = house.local.prepared["tx"]
    await until(lambda: transaction.state is TransactionState.PREPARED)
    assert house.metrics.aborted["abandoned"] == 0
    house.look()
    await until(lambda: house.metrics.aborted["abandoned"] == 1)
