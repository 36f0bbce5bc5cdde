"""Logins by a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.unit.console.harness import TOKEN, Desk, at_desk

from openmsmq.console.limits import PERSON_MAX
from openmsmq.console.proxies import SECRET_HEADER, LoginProxy
from openmsmq.service.values import read_login_proxy

HERE = frozenset({"127.0.0.1"})
OWN = {"X-OpenMSMQ": "1"}


def proxied(
    desk: Desk,
    *,
    addresses: frozenset[str] = HERE,
    secret: bytes | None = b"between us",
) -> None:
    folder = Path(mkdtemp())
    (folder / "staff.token").write_text(f"{TOKEN}\n")
    users = {"ops@*": folder / "staff.token", "gone@*": folder / "missing"}
    proxy = LoginProxy(addresses, "X-Forwarded-Email", users, secret)
    desk.state.settings = replace(desk.state.settings, proxy=proxy)


async def status(desk: Desk, method: str = "GET", **headers: str) -> int:
    given = {name.replace("_", "-"): text for name, text in headers.items()}
    path = "/session" if method == "GET" else "/managers/here/queues"
    body = {"name": "made"} if method == "POST" else None
    async with desk.client.request(method, f"/api/v1{path}", headers=given, json=body) as answer:
        desk.shown = await answer.json()  # type: ignore[attr-defined]
        return answer.status


OPS = {"X_Forwarded_Email": "ops@shop.example", SECRET_HEADER: "between us"}


@at_desk
async def test_a_person_has_the_rights_of_a_token(desk: Desk) -> None:
    proxied(desk)
    assert await status(desk, **OPS) == 200
    assert desk.shown["who"].startswith("ops@shop.example, ")  # type: ignore[attr-defined]
    # A browser sends what the proxy knows it by to every page: another site is refused.
    assert await status(desk, "POST", **OPS) == 403
    assert await status(desk, "POST", Origin="https://evil.example", **OPS, **OWN) == 403
    assert await status(desk, "POST", **OPS, **OWN) == 201


@at_desk
async def test_the_audit_log_names_the_person(desk: Desk) -> None:
    proxied(desk)
    kept: list[tuple[str, ...]] = []
    desk.state.keep_audit = lambda *given: kept.append(given)
    queue = await desk.manager.create_queue("orders")
    await queue.send("a")
    place = (await queue.peek(0)).lookup_id
    given = {"X-Forwarded-Email": "ops@shop.example", SECRET_HEADER: "between us", **OWN}
    async with desk.client.delete(
        f"/api/v1/managers/here/queues/orders/messages/{place}", headers=given
    ) as answer:
        assert answer.status == 204
    ((token, act, _, reason),) = kept
    assert (token, act) == (TOKEN, "delete message")
    assert reason.startswith("ops@shop.example: ")


@at_desk
async def test_no_one_else_is_believed(desk: Desk) -> None:
    proxied(desk)
    assert await status(desk, X_Forwarded_Email="ops@shop.example") == 401
    wrong = {**OPS, SECRET_HEADER: "between uz"}
    assert await status(desk, **wrong) == 401
    stranger = {**OPS, "X_Forwarded_Email": "eve@else.example"}
    assert await status(desk, **stranger) == 403
    assert await status(desk, **{**OPS, "X_Forwarded_Email": "gone@shop.example"}) == 403
    assert await status(desk, **{**OPS, "X_Forwarded_Email": "x" * (PERSON_MAX + 1)}) == 400
    proxied(desk, addresses=frozenset({"10.0.0.9"}), secret=None)
    assert await status(desk, **OPS) == 401


GOOD = {"addresses": ["10.0.0.9"], "header": "X-User", "users": {"*": "a.token"}}


def test_what_the_configuration_may_say() -> None:
    entry = read_login_proxy(GOOD)
    assert (entry.addresses, entry.users["*"]) == (("10.0.0.9",), Path("a.token"))
    here = {**GOOD, "addresses": ["127.0.0.1"]}
    with pytest.raises(ValueError, match="secret_file"):
        read_login_proxy(here)
    assert read_login_proxy({**here, "secret_file": "s"}).secret_file == Path("s")
    for wrong in (
        {},
        "10.0.0.9",
        {**GOOD, "more": 1},
        {**GOOD, "addresses": ["proxy"]},
        {**GOOD, "users": {}},
        {**GOOD, "header": "X User"},
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            read_login_proxy(wrong)
