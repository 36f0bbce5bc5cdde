"""Roles over REST, on a service: who lacks a right is refused, with the name of that right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import openmsmq
from openmsmq import Message
from openmsmq.access.tokens import Tokens
from openmsmq.types.caller import RIGHTS, rights_of
from openmsmq.types.history import AuditEntry
from tests.e2e.managers import ManagerProcess, until
from tests.e2e.rest import Answer, Request, RestProgram

HERE: Final = "/managers/shop01"
ORDERS: Final = f"{HERE}/queues/orders"
FAR: Final = r"DIRECT=OS:far\private$\q"
OUTGOING: Final = quote(FAR, safe="")
ROLES: Final = (*RIGHTS, "peek+send", "send+operate", "peek+operate", "read+send")
SECRET: Final = "secret"


class Shop:
    """A service with a token for each role."""

    def __init__(self, process: ManagerProcess) -> None:
        self.process = process
        tokens = Tokens.load(process.folder / "data")
        self.programs = {role: RestProgram(process, tokens.create(role)[1]) for role in ROLES}
        self.manager = openmsmq.connect(process.app)

    def ask(self, role: str, request: Request, **headers: str) -> Answer:
        """What the service answers to the holder of a token."""
        return self.programs[role].ask(request, **headers)

    def fill(self) -> int:
        """Let there be messages in the queues; one that can be taken."""
        for name in ("orders", "copy", "gone"):
            self.manager.create_queue(name, exist_ok=True)
        queue = self.manager.open_queue("orders")
        if queue.info().messages < 3:
            queue.send_many([Message(f"{SECRET} {n}", label=f"order {n}") for n in range(3)])
        letters = self.manager.open_queue(r".\DeadLetter$")
        if not letters.info().messages:
            late = Message(SECRET, time_to_be_received=0, dead_letter=True)
            queue.send(late)
            letters.peek(timeout=30)
        outgoing = self.manager.open_queue(FAR)
        if not outgoing.info().messages:
            outgoing.send("waits")
        return queue.peek(timeout=0).lookup_id


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder: Path = tmp_path_factory.mktemp("rest")
    process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
    process.start()
    made = Shop(process)
    yield made
    made.manager.close()
    process.stop()


def plan(act: str, **more: Any) -> dict[str, Any]:
    return {"manager": "shop01", "queue": "orders", "act": act, "target": "copy", **more}


Operation = Callable[[RestProgram, int], Answer]


def get(path: str) -> Operation:
    return lambda program, lookup: program.ask(("GET", path.replace("LOOKUP", str(lookup)), None))


def post(path: str, body: Any) -> Operation:
    return lambda program, lookup: program.ask(("POST", path, body))


def run(act: str, **more: Any) -> Operation:
    def operation(program: RestProgram, lookup: int) -> Answer:
        ids = {"ids": [str(lookup)]} if more.get("ids") == "LOOKUP" else {}
        return program.run(plan(act, **{**more, **ids}))

    return operation


def send_like(program: RestProgram, lookup: int) -> Answer:
    """Send a message with all that another one has, its body, too."""
    like = {"queue": "orders", "lookup_id": str(lookup)}
    return program.ask(("POST", f"{HERE}/queues/copy/messages", {"like": like}))


def change(path: str, body: Any) -> Operation:
    return lambda program, lookup: program.ask(("PATCH", path, body), If_Match="*")


def remove(path: str) -> Operation:
    def operation(program: RestProgram, lookup: int) -> Answer:
        return program.ask(("DELETE", path.replace("LOOKUP", str(lookup)), None))

    return operation


def search(program: RestProgram, lookup: int) -> Answer:
    """Begin a search and wait for its end: only so many run at once, of all people together."""
    status, answer = begun = program.ask(("POST", "/searches", {"filter": "label:*"}))
    while status == 201 and answer["state"] == "running":
        answer = program.ask(("GET", f"/searches/{answer['id']}", None))[1]
    return begun


def session(program: RestProgram, lookup: int) -> Answer:
    """Show a session of someone who works with the service."""
    status, answer = found = program.ask(("GET", f"{HERE}/sessions", None))
    if status != 200:
        return found
    return program.ask(("GET", f"{HERE}/sessions/{answer['list'][0]['id']}", None))


OPERATIONS: Final[dict[str, tuple[tuple[str, ...], Operation]]] = {
    "manager": (("watch",), get(HERE)),
    "findings": (("watch",), get(f"{HERE}/findings")),
    "queues": (("watch",), get(f"{HERE}/queues?everything=true")),
    "queue": (("watch",), get(ORDERS)),
    "permissions": (("peek",), get(f"{ORDERS}/permissions")),
    "history of a queue": (("watch",), get(f"{ORDERS}/history")),
    "session": (("watch",), session),
    "jobs": (("watch",), get("/jobs")),
    "outgoing": (("watch",), get(f"{HERE}/outgoing")),
    "settings": (("watch",), get(f"{HERE}/settings")),
    "explain": (("watch",), get("/explain?id=6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b%5C7")),
    "series": (("watch",), get(f"{HERE}/series")),
    "messages": (("peek",), get(f"{ORDERS}/messages")),
    "message": (("peek",), get(f"{ORDERS}/messages/LOOKUP")),
    "body": (("peek",), get(f"{ORDERS}/messages/LOOKUP/body")),
    "packet": (("peek",), get(f"{ORDERS}/messages/LOOKUP/packet")),
    "export": (("peek",), get(f"{ORDERS}/export")),
    "dead letters": (("peek",), get(f"{HERE}/deadletters")),
    "all dead letters": (("peek",), get("/deadletters")),
    "history": (("peek",), get("/history?label=*")),
    "search": (("peek",), search),
    "pipelines": (("watch",), get("/pipelines")),
    "note": (
        ("operate",),
        post(f"{HERE}/deadletters/note", {"queue": r".\DeadLetter$", "text": "known"}),
    ),
    "silence": (("admin",), post(f"{HERE}/findings/silence", {"kind": "old"})),
    "send": (("send",), post(f"{ORDERS}/messages", {"text": "x"})),
    "send like": (("peek+send",), send_like),
    "transactions": (("send",), get(f"{HERE}/transactions")),
    "delete": (("read",), remove(f"{ORDERS}/messages/LOOKUP")),
    "plan to delete": (("read",), run("delete", ids="LOOKUP")),
    "plan to delete for good": (("read",), run("delete", ids="LOOKUP", for_good=True)),
    "plan to purge": (("read",), run("purge")),
    "move": (("operate", "read+send"), run("move", ids="LOOKUP")),
    "move what matches": (("peek+operate", "read+send"), run("move", filter="label:*")),
    "copy": (("operate", "peek+send"), run("copy", ids="LOOKUP")),
    "return": (("peek+operate", "read+send"), run("return", ids="LOOKUP", target="")),
    "pause": (("operate",), post(f"{HERE}/outgoing/{OUTGOING}/pause", {})),
    "resume": (("operate",), post(f"{HERE}/outgoing/{OUTGOING}/resume", {})),
    "create": (("admin",), post(f"{HERE}/queues", {"name": "made"})),
    "change": (("admin",), change(ORDERS, {"label": "changed"})),
    "delete queue": (("admin",), remove(f"{HERE}/queues/gone?messages=0")),
    "peers": (("admin",), get(f"{HERE}/peers")),
    "multicast": (("admin",), get(f"{HERE}/multicast")),
    "audit": (("admin",), get(f"{HERE}/audit")),
    "sessions": (("watch",), get(f"{HERE}/sessions")),
    "dependents": (("watch",), get(f"{HERE}/dependents")),
    "recordings": (("watch",), get(f"{HERE}/recordings")),
    "tokens": (("admin",), get(f"{HERE}/tokens")),
    "create token": (("admin",), post(f"{HERE}/tokens", {"role": "watch"})),
    "configuration": (("admin",), get(f"{HERE}/configuration")),
    "dry run": (("watch",), post(f"{HERE}/apply", {"plan": "[queue.more]"})),
    "configure": (("admin",), change(f"{HERE}/settings", {"reports": True})),
}
"Each with the roles that are enough for it, and what asks for it."


def is_enough(role: str, needed: tuple[str, ...]) -> bool:
    return any(rights_of(one) <= rights_of(role) for one in needed)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_needs_its_role(shop: Shop, name: str) -> None:
    """The same rights as over other protocols; a refusal names one that is missing."""
    needed, operation = OPERATIONS[name]
    for role, program in shop.programs.items():
        lookup = shop.fill()
        if "made" in names(shop):
            shop.manager.delete_queue("made")
        status, answer = operation(program, lookup)
        if is_enough(role, needed):
            assert status < 300, (role, answer)
        else:
            assert status == 403, (role, status, answer)
            words = {"read", *(right for one in needed for right in rights_of(one))}
            assert any(f"'{right}'" in answer["detail"] for right in words), (role, answer)


PIPELINE_ACTS: Final = {
    "/pipelines/none/stop": "operate",
    "/pipelines/none/verify": "operate",
    "/pipelines/none/run": "admin",
    "/jobs/none/stop": "operate",
}


def test_a_pipeline_is_run_stopped_and_verified_by_who_may(shop: Shop) -> None:
    for path, needed in PIPELINE_ACTS.items():
        for role in ROLES:
            status, answer = shop.ask(role, ("POST", path, {}))
            assert status == (404 if needed in rights_of(role) else 403), (path, role, answer)


def test_changes_are_for_who_may_watch(shop: Shop) -> None:
    status, answer = shop.ask("send", ("GET", "/events?manager=shop01", None))
    assert status == 403
    assert "'watch'" in answer["detail"]


def test_an_administrator_controls_sessions_recordings_and_tokens(shop: Shop) -> None:
    """Each act once in the audit log, with the token of who did it."""
    admin = shop.programs["admin"]
    status, made = admin.ask(("POST", f"{HERE}/tokens", {"role": "peek"}), Idempotency_Key="one")
    assert (status, made["secret"][:4]) == (201, "omq_")
    status, again = admin.ask(("POST", f"{HERE}/tokens", {"role": "peek"}), Idempotency_Key="one")
    assert (again["token"]["id"], again["secret"]) == (made["token"]["id"], "")
    guest = RestProgram(shop.process, made["secret"])
    assert guest.ask(("GET", f"{ORDERS}/messages", None))[0] in (200, 404)
    name = made["token"]["id"]
    checked = admin.ask(("GET", f"{HERE}/access-check?token={name}&right=send&queue=orders", None))
    assert checked[1]["allowed"] is False
    rows = admin.ask(("GET", f"{HERE}/sessions", None))[1]["list"]
    (own,) = [one for one in rows if one["who"] == f"token:{name}"]
    assert admin.ask(("DELETE", f"{HERE}/sessions/{own['id']}", None))[0] == 204
    assert admin.ask(("DELETE", f"{HERE}/tokens/{name}", None))[0] == 204
    assert guest.ask(("GET", HERE, None))[0] == 401
    status, begun = admin.ask(("POST", f"{HERE}/recordings", {"seconds": 60}))
    assert (status, begun["state"]) == (201, "running")
    assert admin.ask(("POST", f"{HERE}/recordings", {}))[0] == 409
    path = f"{HERE}/recordings/{begun['id']}"
    assert admin.ask(("DELETE", path, None))[0] == 409
    assert admin.ask(("POST", f"{path}/stop", {}))[1]["state"] == "done"
    assert admin.ask(("GET", f"{path}/missing.pcap", None))[0] == 404
    assert admin.ask(("DELETE", path, None))[0] == 204
    until(lambda: "revoke token" in [one.act for one in audit_of(shop)])
    acts = [
        (one.act, one.who) for one in audit_of(shop) if one.target in (f"token:{name}", begun["id"])
    ]
    who = f"token:{admin.token.split('_')[1]}"
    wanted = ["create token", "revoke token", "start recording", "stop recording"]
    assert sorted(acts) == sorted((act, who) for act in [*wanted, "remove recording"])


def audit_of(shop: Shop) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    while some := shop.manager.audit(after=found[-1].number if found else 0):
        found += some
    return found


def test_the_plan_that_was_shown_is_what_is_applied(shop: Shop) -> None:
    admin = shop.programs["admin"]
    text = '[settings]\nhistory = 7\n[queue.planned]\nlabel = "x"\nquota = "none"\n'
    asked = {"plan": text, "dry_run": False}
    assert admin.ask(("POST", f"{HERE}/apply", asked))[0] == 428
    assert admin.ask(("POST", f"{HERE}/apply", asked), If_Match='"other"')[0] == 412
    assert admin.ask(("POST", f"{HERE}/apply", {"plan": "[nothing]"}))[0] == 400
    tag = admin.headers(("POST", f"{HERE}/apply", {"plan": text}))["ETag"]
    assert "planned" not in names(shop)
    assert shop.ask("watch", ("POST", f"{HERE}/apply", asked), If_Match=tag)[0] == 403
    assert "planned" not in names(shop)
    status, done = admin.ask(("POST", f"{HERE}/apply", asked), If_Match=tag)
    assert (status, done["done"]) == (200, 2)
    assert "planned" in names(shop)
    assert shop.manager.settings().history == 7
    status, answer = admin.ask(("POST", f"{HERE}/apply", {"plan": text}))
    assert {step["action"] for step in answer["steps"]} == {"keep"}


def names(shop: Shop) -> set[str]:
    return {info.name.rpartition("\\")[2] for info in shop.manager.queues()}


def picture(shop: Shop) -> dict[str, Any]:
    """All that a call could change."""
    infos = shop.manager.queues(everything=True)
    messages = {
        info.name: info.messages for info in infos if info.kind in ("private", "system", "subqueue")
    }
    return {
        "total": sum(messages.values()),
        "places": messages,
        "queues": {info.name: info.label for info in infos if info.kind == "private"},
        "outgoing": {one.name: one.state for one in shop.manager.outgoing()},
        "settings": shop.manager.settings(),
        "tokens": [one.id for one in shop.manager.control.tokens()],
    }


def changes_beyond(role: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What changed that a role may not change."""
    rights = rights_of(role)
    may = {
        "queues": "admin" in rights,
        "settings": "admin" in rights,
        "tokens": "admin" in rights,
        "outgoing": "operate" in rights or "send" in rights,
        "places": bool(rights & {"read", "send", "operate"}),
        "total": bool(rights & {"read", "send", "operate"}),
    }
    if before["total"] > after["total"]:
        may["total"] = "read" in rights or "operate" in rights  # one may be returned to elsewhere
    elif before["total"] < after["total"]:
        may["total"] = "send" in rights or "operate" in rights
    return [name for name in before if before[name] != after[name] and not may[name]]


steps = st.lists(
    st.tuples(
        st.sampled_from(ROLES),
        st.sampled_from(sorted(OPERATIONS)),
        st.sampled_from(["orders", "copy", r".\DeadLetter$", r".\Refused$", FAR, "gone"]),
        st.sampled_from(["", "copy", "orders", FAR]),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@given(steps)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_sequence_of_calls_does_what_a_role_may_not(
    shop: Shop, steps: list[tuple[str, str, str, str]]
) -> None:
    """Whatever is asked, in any order and of any queue: the state and the answers tell."""
    made: list[tuple[str, str]] = []
    for role, name, queue, target in steps:
        lookup = shop.fill()
        program, before = shop.programs[role], picture(shop)
        _, operation = OPERATIONS[name]
        status, answer = operation(program, lookup)
        asked = {"manager": "shop01", "queue": queue, "act": "return", "target": target}
        for act in ("move", "delete"):
            found = program.ask(("POST", "/plans", {**asked, "act": act, "ids": [str(lookup)]}))
            if found[0] == 201:
                made.append((role, found[1]["id"]))
        for owner, one in made[-3:]:  # plans of others cannot be seen, nor carried out
            seen, _ = program.ask(("GET", f"/plans/{one}", None))
            assert (seen == 200) is (owner == role)
            if owner != role:
                assert program.ask(("POST", f"/plans/{one}/run", {}))[0] == 404
        after = picture(shop)
        assert not changes_beyond(role, before, after), (role, name, status)
        if "peek" not in rights_of(role):
            assert SECRET not in json.dumps(answer), (role, name)
        if "watch" not in rights_of(role):
            assert "oldest_age" not in json.dumps(answer), (role, name)
