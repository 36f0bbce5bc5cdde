"""Who is let in, and what every answer says to browsers."""

from __future__ import annotations

import asyncio
import gzip
import re
import time

import pytest
from tests.unit.console.harness import AS_PROGRAM, TOKEN, Desk, at_desk, desk

from openmsmq.console.application import COOKIE, IDLE_HEADER, ROUTES, load_files, who_of
from openmsmq.console.limits import LOGINS_FAILED_MAX

OWN = {"X-OpenMSMQ": "1"}


@at_desk
async def test_no_one_gets_in_without_a_login(desk: Desk) -> None:
    for route in ROUTES:
        path = route.path.replace("{manager}", "here").replace("{queue}", "orders")
        path = re.sub(r"\{\w+\}", "1", path)
        async with desk.client.request(route.method, f"/api/v1{path}") as answer:
            assert answer.status == 401, path
            assert answer.content_type == "application/problem+json"
        wrong = {"Authorization": "Bearer omq_aa_wrong"}
        async with desk.client.request(route.method, f"/api/v1{path}", headers=wrong) as answer:
            assert answer.status in (401, 429), path


@at_desk
async def test_a_proxy_that_adds_a_token_does_not_let_other_sites_in(desk: Desk) -> None:
    """It speaks TLS where the console does not, and browsers say which page they ask for."""
    path = "/api/v1/managers/here/queues"
    host = f"localhost:{desk.client.port}"
    for origin, status in (("https://", 201), ("http://", 409), ("https://evil.", 403)):
        headers = {**AS_PROGRAM, "Host": host, "Origin": origin + host}
        async with desk.client.post(path, json={"name": "a"}, headers=headers) as answer:
            assert answer.status == status, await answer.text()
    cross = {**AS_PROGRAM, "Sec-Fetch-Site": "cross-site"}
    async with desk.client.post(path, json={"name": "b"}, headers=cross) as answer:
        assert answer.status == 403


@at_desk
async def test_a_link_logs_in_once(desk: Desk) -> None:
    code = desk.code(time.time())
    first = await desk.client.post("/api/v1/session", json={"code": code}, headers=OWN)
    assert first.status == 200
    cookie = first.cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert (await desk.client.get("/api/v1/session")).status == 200
    again = await desk.client.post("/api/v1/session", json={"code": code}, headers=OWN)
    assert again.status == 401
    old = desk.code(time.time() - 3600)
    assert (
        await desk.client.post("/api/v1/session", json={"code": old}, headers=OWN)
    ).status == 401
    out = await desk.client.delete("/api/v1/session", headers=OWN)
    assert out.status == 204
    assert (await desk.client.get("/api/v1/session")).status == 401


@at_desk
async def test_failed_logins_are_limited(desk: Desk) -> None:
    async def log_in(token: str) -> int:
        answer = await desk.client.post("/api/v1/session", json={"token": token}, headers=OWN)
        return answer.status

    assert await log_in(TOKEN) == 200
    found = [await log_in("omq_aa_wrong") for _ in range(LOGINS_FAILED_MAX)]
    assert set(found) == {401}
    assert await log_in("omq_aa_wrong") == 429
    assert await log_in(TOKEN) == 429


@at_desk
async def test_a_page_of_another_site_cannot_act(desk: Desk) -> None:
    await desk.client.post("/api/v1/session", json={"token": TOKEN}, headers=OWN)
    path, body = "/api/v1/managers/here/queues", {"name": "made"}
    for headers in (
        {},
        {**OWN, "Origin": "http://evil.example"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
        {**OWN, "Sec-Fetch-Site": "same-site"},
    ):
        assert (await desk.client.post(path, json=body, headers=headers)).status == 403
    assert (await desk.client.post(path, json=body, headers=OWN)).status == 201


@at_desk
async def test_a_name_that_is_not_the_consoles_is_refused(desk: Desk) -> None:
    for path in ("/", "/api/v1/session", "/assets/console.js"):
        for host in ("evil.example", "evil.example:1810", "127.0.0.1.evil.example", ""):
            answer = await desk.client.get(path, headers={"Host": host})
            assert answer.status == 421, (path, host)
        for host in ("localhost:5", "127.0.0.9", "[::1]:80"):
            answer = await desk.client.get(path, headers={"Host": host})
            assert answer.status != 421, (path, host)


@at_desk
async def test_every_answer_forbids_what_pages_do_not_need(desk: Desk) -> None:
    for path in ("/", "/api/v1/session", "/api/v1/nothing", "/assets/nothing.js"):
        answer = await desk.client.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "trusted-types 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_read_only_console_changes_nothing() -> None:
    async def test() -> None:
        async with desk(read_only=True) as found:
            await found.ask("POST", "/managers/here/queues", {"name": "x"}, status=403)
            assert (await found.ask("GET", "/session"))["read_only"]

    asyncio.run(test())


def test_cookies_are_bound_to_the_host_where_there_is_tls() -> None:
    async def test() -> None:
        async with desk(is_secure=True) as found:
            answer = await found.client.post(
                "/api/v1/session", json={"token": TOKEN}, headers={"X-OpenMSMQ": "1"}
            )
            assert answer.cookies[f"__Host-{COOKIE}"]["secure"]
            assert "Strict-Transport-Security" in answer.headers

    asyncio.run(test())


@at_desk
async def test_an_idempotency_key_must_make_sense(desk: Desk) -> None:
    body = {"name": "x"}
    path = "/managers/here/queues"
    await desk.ask("POST", path, body, status=400, Idempotency_Key="k" * 200)
    await desk.ask("POST", path, body, status=201, Idempotency_Key="k")
    await desk.ask("POST", path, body, status=201, Idempotency_Key="k")
    assert desk.headers["Idempotent-Replay"] == "true"


@at_desk
async def test_a_request_that_comes_again_while_it_is_answered_is_not_answered_twice(
    desk: Desk,
) -> None:
    queue = await desk.manager.create_queue("orders")
    path, body = "/managers/here/queues/orders/import", b'{"body": "aGVsbG8="}'
    headers = {**AS_PROGRAM, "Idempotency-Key": "once"}

    async def send() -> int:
        async with desk.client.post(f"/api/v1{path}", data=body, headers=headers) as answer:
            return answer.status

    found = await asyncio.gather(*(send() for _ in range(5)))
    assert 200 in found
    assert set(found) <= {200, 409}
    assert (await queue.info()).messages == 1


@at_desk
async def test_a_login_ends_with_its_token(desk: Desk) -> None:
    login = await desk.client.post(
        "/api/v1/session", json={"token": TOKEN}, headers={"X-OpenMSMQ": "1"}
    )
    assert login.status == 200
    assert (await desk.client.get("/api/v1/plans")).status == 200
    desk.state.grant_of = lambda token: None
    assert (await desk.client.get("/api/v1/plans")).status == 401


@at_desk
async def test_a_page_that_no_one_touches_is_logged_out(desk: Desk) -> None:
    """Neither changes that it listens to nor what it asks by itself keep a login alive."""
    await desk.client.post("/api/v1/session", json={"token": TOKEN}, headers=OWN)
    (login,) = desk.state.sessions._sessions.values()

    async def used_by(path: str, **headers: str) -> bool:
        login.used = 5.0 + login.began - 60
        async with desk.client.get(path, headers={**OWN, **headers}) as answer:
            assert answer.status == 200
        return login.used > login.began - 50

    assert await used_by("/api/v1/plans")
    assert not await used_by("/api/v1/plans", **{IDLE_HEADER: "1"})
    assert not await used_by("/api/v1/events")


def test_a_log_never_sees_a_secret() -> None:
    assert who_of("omq_aa11_secret") == "token aa11"
    assert "secret" not in who_of("secret")


@pytest.mark.skipif(not load_files(), reason="the pages are not built")
def test_pages_load_nothing_from_elsewhere() -> None:
    found = load_files()
    assert b'<script type="module" src="/assets/console.js">' in found["index.html"]
    assert b"http" not in found["index.html"]


@pytest.mark.skipif(not load_files(), reason="the pages are not built")
def test_pages_are_small() -> None:
    """The shell and the overview are at most 60 kB, and all screens together 150 kB, compressed."""
    sizes = {name: len(gzip.compress(body)) for name, body in load_files().items()}
    first, todo = set[str](), ["console.js"]
    while todo:
        first.add(name := todo.pop())
        text = load_files()[name].decode()
        todo += set(re.findall(r'(?:from|import)\s*"\./([\w.-]+\.js)"', text)) - first
    assert len(first) > 1, "what it imports at once"
    assert sum(sizes[name] for name in first | {"console.css", "index.html"}) <= 60_000
    assert sum(sizes.values()) <= 150_000
