"""Every right of [MS-MQMQ] 2.2.23 and 2.2.24: principals x operations x protocols, on a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from click.testing import CliRunner

import openmsmq
from openmsmq import Manager, Message, MessageSigner
from openmsmq.access.senders import SenderCertificates, make_certificate
from openmsmq.access.tokens import Tokens
from openmsmq.access.users import Users
from openmsmq.cli.main import main
from openmsmq.client.remote_read._sync.old_association import OldAssociation
from openmsmq.errors import AccessDenied, QueueNotFound
from openmsmq.security.access import ManagerRights as M
from openmsmq.security.access import QueueRights as Q
from openmsmq.security.principals import parse_principal
from openmsmq.types.access import Access
from tests.e2e.managers import ManagerProcess, free_port, running, until
from tests.e2e.rest import Answer, RestProgram

QUEUE: Final = "orders"
JOURNAL: Final = r".\private$\orders\Journal$"
PLACE: Final = f"/managers/far/queues/{QUEUE}"
OF_JOURNAL: Final = f"/managers/far/queues/{quote(JOURNAL, safe='')}"
ATOMS: Final = [right for right in Q if right.bit_count() == 1]
"The rights to a queue, one by one."
MANAGER_ATOMS: Final = [right for right in M if right.bit_count() == 1]
M_CARE: Final = M.CHANGE_MACHINE_PERMISSIONS | M.TAKE_MACHINE_OWNERSHIP
CARE: Final = Q.GET_QUEUE_PERMISSIONS | Q.CHANGE_QUEUE_PERMISSIONS | Q.TAKE_QUEUE_OWNERSHIP
"What administrators may always do."


def opened(manager: Manager, access: Access = Access.ALL, name: str = QUEUE) -> openmsmq.Queue:
    return manager.open_queue(name, access=access)


@dataclass(frozen=True)
class Operation:
    """Something a program does with a queue, the rights it needs and the role."""

    needed: Q
    role: str
    act: Callable[[Manager], object]


QUEUE_OPERATIONS: Final = {
    "send": Operation(Q.WRITE_MESSAGE, "send", lambda m: opened(m, Access.SEND).send("x")),
    "peek": Operation(Q.PEEK_MESSAGE, "read", lambda m: opened(m, Access.PEEK).peek(timeout=0)),
    "receive": Operation(
        Q.RECEIVE_MESSAGE, "read", lambda m: opened(m, Access.RECEIVE).receive(timeout=0)
    ),
    "purge": Operation(Q.RECEIVE_MESSAGE, "read", lambda m: opened(m, Access.RECEIVE).purge()),
    "peek journal": Operation(
        Q.PEEK_MESSAGE, "read", lambda m: opened(m, Access.PEEK, JOURNAL).peek(timeout=0)
    ),
    "receive journal": Operation(
        Q.RECEIVE_JOURNAL_MESSAGE,
        "read",
        lambda m: opened(m, Access.RECEIVE, JOURNAL).receive(timeout=0),
    ),
    "show": Operation(Q.GET_QUEUE_PROPERTIES, "read", lambda m: opened(m).info()),
    "set": Operation(Q.SET_QUEUE_PROPERTIES, "admin", lambda m: opened(m).set(label="x")),
    "permissions": Operation(Q.GET_QUEUE_PERMISSIONS, "read", lambda m: opened(m).permissions()),
    "set permissions": Operation(
        Q.CHANGE_QUEUE_PERMISSIONS, "admin", lambda m: opened(m).set_permissions("D:(A;;LC;;;BG)")
    ),
    "take ownership": Operation(
        Q.TAKE_QUEUE_OWNERSHIP | Q.CHANGE_QUEUE_PERMISSIONS,
        "admin",
        lambda m: opened(m).set_permissions("O:AU"),  # without a list
    ),
    "delete": Operation(Q.DELETE_QUEUE, "admin", lambda m: m.delete_queue(QUEUE)),
}
REMOTE: Final = ("peek", "receive", "purge", "peek journal", "receive journal")
"What RPC can do ([MS-MQRR], [MS-MQQP])."
DEPENDENT: Final = tuple(QUEUE_OPERATIONS.keys() - {"show"})
"What a dependent client can do ([MS-MQMP])."
CONTROL: Final = ("set", "permissions", "set permissions", "take ownership")
"What needs no message of the queue; a dependent client has to have it open."


class Service:
    """A service with all protocols, and programs of every kind."""

    def __init__(self, folder: Path) -> None:
        config = folder / "far.toml"
        rpc = "[rpc]\nallow_anonymous = true\nallow_unauthenticated = true\n"
        config.write_text(f'[app]\nloopback = "anonymous"\n{rpc}')
        ports = ("--rpc-port", "0", "--srmp-port", "0", "--app-port", "0", "--console-port", "0")
        options = [*ports, "--supporting-server", "--config", str(config)]
        self.far = ManagerProcess(folder, "far", port=(port := free_port()), options=options)
        peers = {"far": ("127.0.0.1", port)}
        self.near = ManagerProcess(folder, "near", peers=peers, options=["--srmp-port", "0"])
        data = self.far.folder / "data"
        tokens = Tokens(data)
        self.programs = {}
        for role in ("read+send", "admin"):
            token, secret = tokens.create(role)
            self.programs[role] = f"token:{token.id}", secret
        users = Users(data)
        users.add("anna", "secret", "read+send")
        self.anna = MessageSigner.from_pem(make_certificate("anna"))
        SenderCertificates(data).register(self.anna.certificate, "user:anna")
        users.add("boss", "secret", "admin")
        users.add("anonymous", "", "read+send")
        self.admin: Manager

    def program(self, role: str) -> Manager:
        """A program with a token of this role, or none."""
        host, port = self.far.ready["app"]
        secret = self.programs[role][1] if role else ""
        return openmsmq.connect(f"{host}:{port}", token=secret)

    def restore(self, who: str, mask: int) -> None:
        """Let the queue be as before, with one entry for a principal."""
        try:
            queue = self.admin.open_queue(QUEUE)
        except QueueNotFound:
            queue = self.admin.create_queue(QUEUE, journal=True)
        with queue:
            queue.set_permissions("O:BAD:(A;;0xF003F;;;BA)")
        with self.admin.open_queue(QUEUE) as queue:
            queue.purge()
            queue.send_many(["1", "2"])
            queue.receive(timeout=0)  # one for the journal
            entry = f"(A;;0x{mask:x};;;{parse_principal(who)})" if mask else ""
            queue.set_permissions(f"O:BAD:{entry}")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("access"))
    with running(made.far, made.near), openmsmq.connect(made.far.app) as made.admin:
        yield made


def masks(atoms: list[Q] | list[M], needed: Q | M) -> list[int]:
    """Each right alone, what is needed and no more, all but each of that, none and all."""
    every = 0
    for atom in atoms:
        every |= atom
    missing = [every & ~atom for atom in atoms if atom & needed]
    return [0, every, int(needed), *map(int, atoms), *missing]


def is_done(act: Callable[[Manager], object], manager: Manager) -> bool:
    try:
        act(manager)
    except AccessDenied:
        return False
    except openmsmq.MQError as error:
        raise AssertionError(repr(error)) from error
    return True


@pytest.mark.parametrize("role", ["read+send", "admin", ""])
@pytest.mark.parametrize("name", QUEUE_OPERATIONS)
def test_programs(service: Service, name: str, role: str) -> None:
    """MQQB-373, MSEC-150, MSEC-152, MSEC-153, MSEC-155, MSEC-158: role and list."""
    operation = QUEUE_OPERATIONS[name]
    who = service.programs[role][0] if role else "anonymous"
    with service.program(role) as manager:
        for mask in masks(ATOMS, operation.needed):
            service.restore(who, mask)
            allowed = is_allowed(operation, role, mask)
            assert is_done(operation.act, manager) is allowed, (name, who, hex(mask))


REST: Final[dict[str, Callable[[RestProgram], Answer]]] = {
    "send": lambda p: p.ask(("POST", f"{PLACE}/messages", {"text": "x"})),
    "peek": lambda p: p.ask(("GET", f"{PLACE}/messages?limit=1", None)),
    "purge": lambda p: p.run({"manager": "far", "queue": QUEUE, "act": "purge"}),
    "peek journal": lambda p: p.ask(("GET", f"{OF_JOURNAL}/messages?limit=1", None)),
    "receive journal": lambda p: p.run({"manager": "far", "queue": JOURNAL, "act": "purge"}),
    "set": lambda p: p.ask(("PATCH", PLACE, {"label": "x"}), If_Match="*"),
    "delete": lambda p: p.ask(("DELETE", f"{PLACE}?messages=1", None)),
}
"What REST can do with a queue; to change or delete it, it looks at it first."
ALSO: Final = {
    "purge": Q.PEEK_MESSAGE,
    "receive journal": Q.PEEK_MESSAGE,
    "set": Q.GET_QUEUE_PROPERTIES,
    "delete": Q.GET_QUEUE_PROPERTIES,
    "send": Q.GET_QUEUE_PROPERTIES,
}


@pytest.mark.parametrize("role", ["read+send", "admin"])
@pytest.mark.parametrize("name", REST)
def test_rest(service: Service, name: str, role: str) -> None:
    """MSEC-150, MSEC-152, MSEC-153, MSEC-158: REST asks as its user, whom the list counts for."""
    operation = QUEUE_OPERATIONS[name]
    needed = operation.needed | ALSO.get(name, Q(0))
    who, secret = service.programs[role]
    program = RestProgram(service.far, secret)
    for mask in masks(ATOMS, needed):
        service.restore(who, mask)
        allowed = needed & ~mask == 0 and (operation.role != "admin" or role == "admin")
        status, answer = REST[name](program)
        assert status in (200, 201, 202, 204, 403), (status, answer)
        assert (status != 403) is allowed, (name, who, hex(mask), answer)


COMMANDS: Final = {
    "send": ("message", "send", QUEUE, "--body", "x"),
    "peek": ("message", "peek", QUEUE),
    "receive": ("message", "receive", QUEUE),
    "purge": ("queue", "purge", QUEUE, "--yes"),
    "peek journal": ("message", "peek", JOURNAL),
    "receive journal": ("message", "receive", JOURNAL),
    "show": ("queue", "show", QUEUE),
    "set": ("queue", "set", QUEUE, "--label", "x"),
    "permissions": ("queue", "permissions", "show", QUEUE),
    "set permissions": ("queue", "permissions", "set", QUEUE, "--sddl", "D:(A;;LC;;;BG)"),
    "take ownership": ("queue", "permissions", "set", QUEUE, "--sddl", "O:AU"),
    "delete": ("queue", "delete", QUEUE, "--yes"),
}
LOOKED_AT: Final = ("purge", "set", "delete")
"Commands that look at the queue before they change it."


def is_allowed(operation: Operation, role: str, mask: int) -> bool:
    """What role and list say; administrators care for lists whatever these say."""
    allowed = operation.needed & ~mask == 0
    if role == "admin":
        allowed |= operation.needed & ~CARE == 0
    return allowed and (operation.role != "admin" or role == "admin")


def few(needed: Q) -> list[int]:
    """What is needed and no more, and all but each of that."""
    return [int(needed), *(Q.GENERIC_ALL & ~atom for atom in ATOMS if atom & needed)]


@pytest.mark.parametrize("role", ["read+send", "admin"])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands(service: Service, monkeypatch: pytest.MonkeyPatch, name: str, role: str) -> None:
    """MSEC-150, MSEC-152, MSEC-153, MSEC-158: a command has the rights of its token."""
    who, secret = service.programs[role]
    monkeypatch.setenv("OPENMSMQ_TOKEN", secret)
    host, port = service.far.ready["app"]
    operation = QUEUE_OPERATIONS[name]
    if name in LOOKED_AT:
        operation = replace(operation, needed=operation.needed | Q.GET_QUEUE_PROPERTIES)
    for mask in few(operation.needed):
        service.restore(who, mask)
        done = CliRunner().invoke(main, ["--manager", f"{host}:{port}", *COMMANDS[name]])
        assert (done.exit_code == 0) is is_allowed(operation, role, mask), (hex(mask), done.output)
        assert done.exit_code == 0 or "AccessDenied (0xC00E0025)" in done.output, done.output


@pytest.mark.parametrize("user", ["anna", "boss"])
@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_clients(service: Service, name: str, user: str) -> None:
    """MSEC-149, MSEC-150: the supporting server asks as the user of the connection."""
    operation = QUEUE_OPERATIONS[name]
    role = "admin" if user == "boss" else "read+send"
    host, port = service.far.ready["rpc"]
    opening = Q.WRITE_MESSAGE if name in CONTROL else Q(0)
    for mask in few(operation.needed):
        service.restore(f"user:{user}", mask | opening)
        with openmsmq.connect_dependent(
            host, port=port, computer="far", user=user, password="secret"
        ) as manager:
            allowed = is_allowed(operation, role, mask)
            assert is_done(operation.act, manager) is allowed, (name, user, hex(mask))


@pytest.mark.parametrize("name", REMOTE)
def test_older_remote_calls(service: Service, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """MSEC-149: older remote read ([MS-MQQP]) asks as the user of the connection, too."""
    monkeypatch.setattr("openmsmq.client.remote_read._sync.backend.RpcAssociation", OldAssociation)
    operation = QUEUE_OPERATIONS[name]
    host, port = service.far.ready["rpc"]
    for mask in few(operation.needed):
        service.restore("user:anna", mask)
        with openmsmq.connect_remote(
            host, port=port, computer="far", user="anna", password="secret"
        ) as manager:
            allowed = operation.needed & ~mask == 0
            assert is_done(operation.act, manager) is allowed, (name, hex(mask))


@pytest.mark.parametrize("user", ["anna", ""])
@pytest.mark.parametrize("name", REMOTE)
def test_remote_calls(service: Service, name: str, user: str) -> None:
    """MSEC-149: the identity of the RPC connection counts; none is anonymous."""
    operation = QUEUE_OPERATIONS[name]
    host, port = service.far.ready["rpc"]
    who = f"user:{user}" if user else "anonymous"
    password, level = ("secret", "privacy") if user else ("", "none")
    for mask in masks(ATOMS, operation.needed):
        service.restore(who, mask)
        with openmsmq.connect_remote(
            host, port=port, computer="far", user=user, password=password, level=level
        ) as manager:
            allowed = operation.needed & ~mask == 0
            assert is_done(operation.act, manager) is allowed, (name, who, hex(mask))


@pytest.mark.parametrize(
    ("protocol", "who"),
    [("binary", "anonymous"), ("signed", "user:anna"), ("http", "everyone")],
    ids=["binary", "signed", "http"],
)
def test_other_managers(service: Service, protocol: str, who: str) -> None:
    """MQQB-322, MSEC-138, MSEC-140, MSEC-141, MSEC-148: a message needs WRITE_MESSAGE to arrive.

    One that is signed is of who signed it; without a signature the protocol decides.
    """
    message = Message("from elsewhere", recoverable=True)
    if protocol == "signed":
        message = replace(message, signer=service.anna)
    name = r"DIRECT=OS:far\private$\orders"
    if protocol == "http":
        host, port = service.far.ready["srmp"]
        name = f"DIRECT=HTTP://{host}:{port}/msmq/private$/orders"
    with service.near.connect() as sender:
        refused = service.admin.open_queue(r".\Refused$")
        for mask in masks(ATOMS, Q.WRITE_MESSAGE):
            service.restore(who, mask)
            before = refused.info().messages
            sender.open_queue(name).send(message)

            def messages() -> int:
                found = {info.name: info for info in service.admin.queues()}
                return found[r".\private$\orders"].messages

            def came(before: int = before) -> bool:
                return messages() == 2 or refused.info().messages > before

            until(came, f"{protocol} {mask:x}")
            assert (messages() == 2) is bool(mask & Q.WRITE_MESSAGE), (protocol, hex(mask))


MANAGER_OPERATIONS: Final[dict[str, tuple[M, Callable[[Manager], object]]]] = {
    "create queue": (M.CREATE_QUEUE, lambda m: m.create_queue("made")),
    "settings": (M.GET_MACHINE_PROPERTIES, lambda m: m.settings()),
    "configure": (M.SET_MACHINE_PROPERTIES, lambda m: m.configure(reports=False)),
    "peek dead letters": (
        M.PEEK_DEADLETTER_MESSAGE,
        lambda m: opened(m, Access.PEEK, r".\DeadLetter$").peek_many(1, timeout=0),
    ),
    "receive dead letters": (
        M.RECEIVE_DEADLETTER_MESSAGE,
        lambda m: opened(m, Access.RECEIVE, r".\DeadLetter$").receive_many(1, timeout=0),
    ),
    "peek the journal": (
        M.PEEK_JOURNAL_QUEUE_MESSAGE,
        lambda m: opened(m, Access.PEEK, r".\Journal$").peek_many(1, timeout=0),
    ),
    "receive from the journal": (
        M.RECEIVE_JOURNAL_QUEUE_MESSAGE,
        lambda m: opened(m, Access.RECEIVE, r".\Journal$").receive_many(1, timeout=0),
    ),
    "set permissions": (M.CHANGE_MACHINE_PERMISSIONS, lambda m: m.configure(permissions="")),
    "take ownership": (
        M.TAKE_MACHINE_OWNERSHIP,
        lambda m: m.configure(permissions=m.settings().permissions.replace("O:BA", "O:AU")),
    ),
}
"No operation deletes a manager (DELETE_MACHINE)."


@pytest.mark.parametrize("role", ["read+send", "admin"])
def test_who_sees_the_permissions_of_the_manager(service: Service, role: str) -> None:
    """Settings are shown without them to those who may not see them."""
    who = parse_principal(service.programs[role][0])
    with service.program(role) as manager:
        for mask in masks(MANAGER_ATOMS, M.GET_MACHINE_PROPERTIES | M.GET_MACHINE_PERMISSIONS):
            service.admin.configure(permissions=f"O:BAD:(A;;0x{mask:x};;;{who})")
            found = is_done(Manager.settings, manager)
            assert found is bool(mask & M.GET_MACHINE_PROPERTIES), hex(mask)
            if found:
                is_seen = bool(manager.settings().permissions)
                assert is_seen is (role == "admin" or bool(mask & M.GET_MACHINE_PERMISSIONS))
    service.admin.configure(permissions="")


@pytest.mark.parametrize("name", MANAGER_OPERATIONS)
def test_the_manager(service: Service, name: str) -> None:
    """MSEC-151, MSEC-154: rights to the manager itself."""
    needed, act = MANAGER_OPERATIONS[name]
    who = parse_principal(service.programs["admin"][0])
    local = service.admin
    with service.program("admin") as manager:
        for mask in masks(MANAGER_ATOMS, needed):
            local.configure(permissions=f"O:BAD:(A;;0x{mask:x};;;{who})")
            allowed = needed & ~mask == 0 or needed & ~M_CARE == 0
            if name == "take ownership":  # it looks at them first
                allowed = bool(mask & M.GET_MACHINE_PROPERTIES)
            assert is_done(act, manager) is allowed, (name, hex(mask))
            local.configure(permissions="")
            if name == "create queue" and allowed:
                local.delete_queue("made")
