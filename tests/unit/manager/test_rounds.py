"""What the door for programs sees to although nobody asks."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.manager.programs import House, served, until
from tests.unit.model.world import HandClock

from openmsmq.manager import rounds
from openmsmq.manager.tokens import TOKENS_FILE, Tokens

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
    house.door.rounds.go()
    assert await program.closing() == "the token was revoked"
    assert house.metrics.rejected == {"token revoked": 1}
    [event] = [record for record in caplog.records if record.getMessage() == "token revoked"]
    assert event.__dict__["fields"]["token"] == kept.id
    assert await unknown.peek(await unknown.open("orders")) == ["a"], "it was held"
    house.door.rounds.go()
    await other.ping()
    assert house.metrics.rejected == {"token revoked": 1}


@served()
async def test_nobody_has_to_say_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "EVERY", 0.01)
    house.door.rounds.stop()
    house.door.rounds.start()
    kept, token = house.tokens.create("read")
    program = await house.program(token)
    house.tokens.revoke(kept.id)
    assert await program.closing() == "the token was revoked"


@served()
async def test_a_token_whose_time_is_over_ends_the_connection(house: House) -> None:
    clock = HandClock()
    house.tokens = Tokens(house.folder, clock)
    house.door.tokens = house.tokens
    _, token = house.tokens.create("read", expires=int(clock.time) + 10)
    program = await house.program(token)
    clock.wait(9)
    house.door.rounds.go()
    await program.ping()
    clock.wait(2)
    house.door.rounds.go()
    assert await program.closing() == "the token has expired"
    assert house.metrics.rejected == {"token expired": 1}


@served()
async def test_a_token_that_allows_something_else_now_is_another_one(house: House) -> None:
    program = await house.program(house.token("admin"))
    file = house.folder / TOKENS_FILE
    file.write_text(file.read_text().replace('"admin"', '"read"'))
    house.door.rounds.go()
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
        house.door.rounds.go()
    await program.ping()
    assert [record.getMessage() for record in caplog.records] == ["tokens cannot be read"]
    file.write_text(text)
    house.door.rounds.go()
    await program.ping()
    file.unlink()
    house.door.rounds.go()
    assert await program.closing() == "the token was revoked"


@served()
async def test_nothing_is_looked_at_after_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "EVERY", 0.0)
    house.door.rounds.stop()
    seen = 0

    def go(_: object) -> None:
        nonlocal seen
        seen += 1

    monkeypatch.setattr(rounds.Rounds, "go", go)
    house.door.rounds.start()
    await until(lambda: seen)
    await house.door.stop("enough")
    before = seen
    await asyncio.sleep(0.01)
    assert seen == before
