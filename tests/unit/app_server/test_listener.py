"""The listener for programs: sockets, and who comes in through them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import stat
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.certificates import make_certificates
from tests.unit.app_server.programs import House, Program, connection_of, served, until

from openmsmq.app_protocol.calls import Hello
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_server import listener as module
from openmsmq.app_server.listener import AppListener
from openmsmq.errors import MQError
from openmsmq.service.listeners import server_tls
from openmsmq.types.caller import Grant

TOKEN = "the token is missing, wrong or has expired"


async def accepted(program: Program) -> bool:
    """Whether a program is let in."""
    try:
        await program.hello()
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    return True


# Where it is


@served()
async def test_a_unix_socket_is_for_its_owner_only_and_gone_at_the_end(house: House) -> None:
    path = house.config.app_socket
    assert path is not None
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (await house.program()).is_silent
    await house.listener.stop("enough")
    assert not path.exists()


@served()
async def test_it_says_where_it_is(house: House) -> None:
    path = house.folder / "another"
    house.config = replace(house.config, app_socket=path)
    listener = house.new_listener()
    assert await listener.start() == str(path)
    await listener.stop("enough")
    house.config = replace(house.config, app_socket=path, app_port=0)
    listener = house.new_listener()
    address = await listener.start()
    assert isinstance(address, tuple)
    assert address[0] == "127.0.0.1"
    assert path.is_socket()
    for program in (await house.connect_tcp(address[1]), await house.connect()):
        await program.hello()
    assert listener.server.clients == 2
    await listener.stop("enough")
    assert not path.exists()
    with pytest.raises(ConnectionRefusedError):
        await house.connect_tcp(address[1])


@served()
async def test_a_socket_that_someone_left_who_was_killed_is_replaced(house: House) -> None:
    path = house.folder / "left"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    house.config = replace(house.config, app_socket=path)
    listener = house.new_listener()
    await listener.start()
    assert await accepted(await house.connect())
    await listener.stop("enough")


@served()
async def test_a_file_that_is_no_socket_is_left_alone(house: House) -> None:
    """Someone has mistyped a path: that must not cost a file."""
    path = house.folder / "precious"
    path.write_text("work")
    house.config = replace(house.config, app_socket=path)
    listener = house.new_listener()
    with pytest.raises(OSError, match="in use"):
        await listener.start()
    await listener.stop("it did not start")
    assert path.read_text() == "work"


@served()
async def test_stopped_before_it_was_started_it_is_silent(house: House) -> None:
    await house.new_listener().stop("never started")
    assert (house.folder / "app").is_socket()


# Who comes in


@served()
async def test_who_is_on_this_computer_needs_no_token(house: House) -> None:
    assert (await (await house.connect()).hello())["role"] == "admin"
    listener, port = await house.open_tcp(is_local=True)
    assert (await (await house.connect_tcp(port)).hello())["role"] == "admin"
    await listener.stop("enough")


@served()
async def test_who_shows_a_token_gets_what_it_grants(house: House) -> None:
    for program in (await house.connect(), await house.connect()):
        assert (await program.hello(house.token("send", "a*")))["role"] == "send"
    assert house.metrics.logins_refused == 0


@pytest.mark.parametrize("token", ["wrong", "omq_00000000_x", "\udc80", "x" * 5000])
@served()
async def test_a_wrong_token_is_wrong_also_where_none_is_needed(house: House, token: str) -> None:
    program = await house.connect()
    with pytest.raises(asyncio.IncompleteReadError):
        await program.hello(token)
    assert await program.closing() == TOKEN
    assert house.metrics.logins_refused == 1


@served()
async def test_who_comes_from_elsewhere_needs_one(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    listener, port = await house.open_tcp(is_local=False)
    program = await house.connect_tcp(port)
    with caplog.at_level(logging.WARNING), pytest.raises(asyncio.IncompleteReadError):
        await program.hello()
    assert await program.closing() == TOKEN
    assert "login refused" in caplog.text
    assert house.metrics.logins_refused == 1
    token = house.token("read")
    assert (await (await house.connect_tcp(port)).hello(token))["role"] == "read"
    assert token not in caplog.text
    await listener.stop("enough")


@served(allow_insecure=True)
async def test_unless_that_is_allowed(house: House) -> None:
    listener, port = await house.open_tcp(is_local=False)
    assert (await (await house.connect_tcp(port)).hello())["role"] == "admin"
    await listener.stop("enough")


SHOP = {"subject": ((("commonName", "web shop"),),)}


@served()
async def test_a_certificate_gives_what_its_entry_says_and_a_token_counts_alone(
    house: House,
) -> None:
    """Without a certificate no program gets as far as HELLO (`listeners.server_tls`)."""
    pem, entry = house.folder / "ca.pem", Grant("send", certificate="CN=web shop")
    secure = replace(house.config, tls_cert=pem, tls_key=pem, tls_client_ca=pem)
    house.config = replace(secure, tls_clients={"CN=web shop": entry})
    listener = house.new_listener()
    other = {"subject": ((("commonName", "other"),),)}
    assert listener.server.admit("", "a program", SHOP, is_trusted=False) == entry
    assert listener.server.admit("", "a program", other, is_trusted=False) is None
    assert listener.server.admit("", "a program", {}, is_trusted=False) is None
    assert listener.server.admit("wrong", "a program", SHOP, is_trusted=False) is None
    grant = listener.server.admit(house.token("read"), "a program", SHOP, is_trusted=False)
    assert isinstance(grant, Grant)
    assert grant.role == "read"
    house.config = secure
    assert house.new_listener().server.admit("", "a program", SHOP, is_trusted=False) is None
    assert house.metrics.logins_refused == 4


@served()
async def test_a_token_that_is_revoked_lets_no_one_in_any_longer(house: House) -> None:
    kept, token = house.tokens.create("read")
    await house.program(token)
    house.tokens.revoke(kept.id)
    with pytest.raises(asyncio.IncompleteReadError):
        await house.program(token)


@served()
async def test_who_guesses_tokens_waits_for_each(house: House) -> None:
    """What such a program sends meanwhile is not even kept."""
    listener, port = await house.open_tcp(is_local=False, refusal_delay_s=0.1)
    program = await house.connect_tcp(port)
    begun = time.monotonic()
    number = program.tell(Kind.HELLO, b'{"protocol":1,"client":"c","token":"wrong"}')
    program.tell(Kind.HELLO, b'{"protocol":1,"client":"c","token":"another"}')
    found = await program.next()
    assert time.monotonic() - begun >= 0.099
    assert (found.kind, found.id, number) == (Kind.CLOSING, 0, 1)
    assert house.metrics.logins_refused == 1
    await listener.stop("enough")


@served()
async def test_who_gives_up_meanwhile_is_forgotten(house: House) -> None:
    listener, port = await house.open_tcp(is_local=False, refusal_delay_s=60)
    program = await house.connect_tcp(port)
    program.tell(Kind.HELLO, b'{"protocol":1,"client":"c"}')
    await until(lambda: house.metrics.logins_refused)
    program.cut()
    await until(lambda: not listener.server.clients)
    await listener.stop("enough")


@served()
async def test_who_waits_for_a_refusal_is_notified_of_the_end(house: House) -> None:
    listener, port = await house.open_tcp(is_local=False, refusal_delay_s=60)
    program = await house.connect_tcp(port)
    program.tell(Kind.HELLO, b'{"protocol":1,"client":"c"}')
    program.writer.write(b"garbage that no one reads")
    await until(lambda: house.metrics.logins_refused)
    await listener.stop("enough")
    assert await program.closing() == "enough"


@served()
async def test_who_never_says_hello_does_not_stay(house: House) -> None:
    listener, port = await house.open_tcp(hello_timeout_s=0.01)
    program = await house.connect_tcp(port)
    assert await program.closing() == "no HELLO came in time"
    assert house.metrics.rejected == {"no hello": 1}
    await listener.stop("enough")


@served()
async def test_who_says_hello_has_no_more_to_fear(house: House) -> None:
    await house.connect()
    await until(lambda: house.server.clients)
    [session] = house.server.sessions
    assert session.next_deadline is not None
    assert 29 < session.next_deadline - asyncio.get_running_loop().time() <= 30
    await house.programs[0].hello()
    session.tick(session.next_deadline)
    assert session.next_deadline is None


@served(clients_max=2)
async def test_no_more_come_in_than_there_is_room_for(house: House) -> None:
    first, second = await house.program(), await house.program()
    third = await house.connect()
    assert await third.closing() == "too many programs are connected"
    assert house.metrics.rejected == {"too many clients": 1}
    first.cut()
    await until(lambda: house.server.clients == 1)
    fourth = await house.program()
    for program in (second, fourth):
        await program.ping()


@served(clients_max=2)
async def test_silent_connections_give_way_to_programs(house: House) -> None:
    """Without a token no one can keep programs out for long."""
    program = await house.program()
    silent = [await house.connect() for _ in range(3)]
    another = await house.program()
    for one in silent:  # those who came when there was no room yet are notified of it
        assert await one.closing() in ("", "too many programs are connected")
    assert house.metrics.rejected == {"too many clients": 3}
    await program.ping()
    await another.ping()


@served(clients_max=2)
async def test_who_comes_beyond_all_limits_is_not_even_notified(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REFUSALS_MAX", 0)
    await house.program()
    await house.program()
    assert await (await house.connect()).closing() == ""
    assert house.metrics.rejected == {"too many clients": 1}


@served()
async def test_what_the_system_cannot_give_is_counted_and_logged(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.listener.exhausted(OSError(24, "Too many open files"))
    assert house.metrics.rejected == {"no file descriptor left": 1}
    [line] = caplog.records
    assert line.getMessage() == "cannot accept connections"
    assert line.levelname == "ERROR"


@served()
async def test_programs_are_counted(house: House) -> None:
    first, _ = await house.program(), await house.program()
    assert (house.server.clients, house.metrics.clients, house.metrics.connections) == (2, 2, 2)
    first.cut()
    await until(lambda: house.server.clients == 1)
    assert (house.metrics.clients, house.metrics.connections) == (1, 2)


# The end


@served()
async def test_programs_learn_why_it_ends(house: House) -> None:
    programs = [await house.program() for _ in range(3)]
    silent = await house.connect()
    await until(lambda: house.server.clients == 4)
    await house.listener.stop("SIGTERM")
    for program in (*programs, silent):
        assert await program.closing() == "SIGTERM"
    assert house.server.clients == 0
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        await house.connect()


@served()
async def test_who_was_on_the_way_in_is_notified_as_well(house: House) -> None:
    await house.listener.stop("SIGTERM")
    near, far = socket.socketpair()
    loop = asyncio.get_running_loop()
    await loop.create_connection(
        partial(house.listener._connection, is_trusted=lambda _: True), sock=near
    )
    reader, writer = await asyncio.open_connection(sock=far)
    assert await Program(reader, writer).closing() == "SIGTERM"
    writer.close()


@served()
async def test_those_who_do_not_listen_do_not_hold_up_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DRAIN_TIMEOUT_S", 0.05)
    deaf = await house.program()
    deaf.tell(Kind.PING, bytes(6 << 20))
    await until(lambda: [s for s in house.server.sessions if connection_of(s).write_buffer_full])
    begun = time.monotonic()
    await house.listener.stop("enough")
    assert time.monotonic() - begun >= 0.05
    assert house.server.clients == 0


@served()
async def test_who_cannot_be_heard_any_more_is_forgotten_after_the_store_is_closed(
    house: House,
) -> None:
    program = await house.program()
    handle = await program.create()
    program.begin_read(handle)
    await program.ping()
    await house.driver.close()
    program.cut()
    await until(lambda: not house.server.clients)
    house.queue().modes.clear()  # what no one closes at the very end


# TLS


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


async def open_tls(house: House, made: Path) -> tuple[AppListener, int, ssl.SSLContext]:
    """A listener that speaks TLS."""
    config = replace(house.config, tls_cert=made / "server.pem", tls_key=made / "server.key")
    listener, port = await house.open_tcp(is_local=False, tls=server_tls(config))
    context = ssl.create_default_context(cafile=made / "ca.pem")
    context.check_hostname = False
    return listener, port, context


@served()
async def test_all_goes_through_tls_as_well(house: House, made: Path) -> None:
    """Much at once, in both directions."""
    listener, port, context = await open_tls(house, made)
    program = await house.connect_tcp(port, ssl=context)
    await program.hello(house.token("admin"))
    handle = await program.create()
    for _ in range(3):
        program.tell(Kind.PING, bytes(3 << 20))
    await program.send(handle, *(bytes(1 << 20) for _ in range(5)))
    assert len(await program.read(handle, count=5)) == 3, "no more fit into a frame"
    await listener.stop("enough")
    assert await program.closing() == "enough"


@served()
async def test_other_users_of_a_unix_socket_are_no_administrators(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MSEC-150."""
    path = house.folder / "shared"
    house.config = replace(house.config, app_socket=path, app_socket_for="group")
    listener = house.new_listener(refusal_delay_s=0)
    await listener.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert (await (await house.connect()).hello())["role"] == "admin"
    monkeypatch.setattr("openmsmq.net.connection.unix_user", lambda _: (12345, 17))
    assert (await (await house.connect()).hello())["role"] == "read+send"
    assert listener.server.sessions[-1].caller.principal == "unix:12345"
    monkeypatch.setattr("openmsmq.net.connection.unix_user", lambda _: ())
    unknown = await house.connect()
    unknown.tell(Kind.HELLO, Hello("test").encode())
    assert "the token is missing" in await unknown.closing()
    await listener.stop("enough")


@served()
async def test_who_does_not_speak_tls_is_no_program(house: House, made: Path) -> None:
    listener, port, _ = await open_tls(house, made)
    program = await house.connect_tcp(port)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError, MQError)):
        await program.hello(house.token("admin"))
    assert house.metrics.connections == 0
    await listener.stop("enough")


@served()
async def test_a_certificate_alone_gives_no_rights_on_this_computer_either(
    house: House, made: Path
) -> None:
    secure = replace(
        house.config,
        tls_cert=made / "server.pem",
        tls_key=made / "server.key",
        tls_client_ca=made / "ca.pem",
    )
    house.config = secure
    trust = ssl.create_default_context(cafile=made / "ca.pem")
    trust.check_hostname = False
    trust.load_cert_chain(made / "client.pem", made / "client.key")
    listener, port = await house.open_tcp(
        tls=server_tls(secure, ask_clients=True), refusal_delay_s=0
    )
    stranger = await house.connect_tcp(port, ssl=trust)
    stranger.tell(Kind.HELLO, Hello("test").encode())
    assert "tls.clients has no entry" in await stranger.closing()
    known = await house.connect_tcp(port, ssl=trust)
    assert (await known.hello(token=house.token("read")))["role"] == "read"
    await listener.stop("enough")


@served(clients_max=2)
async def test_half_open_connections_are_counted_and_give_way(house: House, made: Path) -> None:
    listener, port, context = await open_tls(house, made)
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
    program = await house.connect_tcp(port, ssl=context)
    await program.hello(house.token("admin"))
    await until(lambda: house.metrics.rejected["unfinished TLS handshake"] == 4)
    for reader, _ in silent[:4]:
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    for _, writer in silent:
        writer.close()
    await listener.stop("enough")
