"""The listeners of a service, and who may connect to them."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.certificates import make_certificates

import openmsmq
from openmsmq.access.tokens import Tokens
from openmsmq.clock import SystemClock
from openmsmq.directory.service import DirectoryService
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import InvalidParameter, StorageFailed
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.startup import open_directory
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.listeners import StandardListeners, server_tls
from openmsmq.service.service import Service, ServiceListener
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.mqqb.listener import BinaryListener
from openmsmq.transports.mqqb.ping_listener import PingListener
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.caller import Grant
from openmsmq.types.manager_state import ManagerState


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """On this computer, on any port."""
    return Config(data=tmp_path / "data", app_port=0, console_port=0, binary_port=None)


def with_tls(config: Config, made: Path, *, client_ca: bool = False) -> Config:
    """The same with a certificate."""
    return replace(
        config,
        tls_cert=made / "server.pem",
        tls_key=made / "server.key",
        tls_client_ca=made / "ca.pem" if client_ca else None,
    )


async def late(config: Config, tokens: Tokens) -> Mapping[str, ServiceListener]:
    """The listeners beside an open store."""
    local = open_directory(config.data, receipts=RECEIPTS)
    driver = LoopDriver(local, local.clock)
    try:
        return StandardListeners(config).late(local, driver, config, tokens)
    finally:
        await driver.close()


async def status(address: str, path: str, tls: ssl.SSLContext | bool, token: str = "") -> int:
    """What the console answers."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    scheme = "http" if tls is False else "https"
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{scheme}://{address}{path}", ssl=tls or True) as answer,
    ):
        return answer.status


async def address(listener: ServiceListener) -> str:
    """Where it is on this computer."""
    where = await listener.start()
    assert isinstance(where, tuple)
    return f"127.0.0.1:{where[1]}"


def test_the_console_tells_how_it_goes_before_the_store_is_open(config: Config) -> None:
    async def check() -> None:
        listeners = StandardListeners(config)
        tokens = Tokens(config.data)
        early = listeners.early(config, tokens)
        assert list(early) == ["console"]
        where = await address(early["console"])
        assert await status(where, "/healthz", tls=False) == 503
        local = open_directory(config.data, receipts=RECEIPTS)
        driver = LoopDriver(local, local.clock)
        assert list(listeners.late(local, driver, config, tokens)) == ["app"]
        assert await status(where, "/healthz", tls=False) == 200
        assert await status(where, "/metrics", tls=False) == 200
        await early["console"].stop("enough")
        await driver.close()

    asyncio.run(check())


class _Slow:
    """A listener that closes when someone has looked."""

    def __init__(self, listener: ServiceListener, is_seen: asyncio.Event) -> None:
        self.start = listener.start
        self._listener = listener
        self._is_seen = is_seen

    async def stop(self, reason: str) -> None:
        await self._is_seen.wait()
        await self._listener.stop(reason)


def test_health_is_bad_from_the_moment_in_which_the_store_fails(config: Config) -> None:
    """Until the service has ended: who looks does not wait for what is still being closed."""
    opened: list[tuple[QueueManager, LoopDriver]] = []
    is_seen = asyncio.Event()

    class Watched(StandardListeners):
        def late(
            self, local: QueueManager, driver: LoopDriver, config: Config, tokens: Tokens
        ) -> Mapping[str, ServiceListener]:
            opened.append((local, driver))
            found = super().late(local, driver, config, tokens)
            return {name: _Slow(listener, is_seen) for name, listener in found.items()}

    async def check() -> None:
        service = Service(config, Watched(config), reload=lambda: config)
        running = asyncio.create_task(service.run())
        while service.state is not ManagerState.READY:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        where = "{}:{}".format(*service._addresses["console"])
        assert await status(where, "/healthz", tls=False) == 200
        [(local, driver)] = opened
        store = local.store

        def broken() -> None:
            store.abort()
            raise StorageFailed("EIO")

        store.commit = broken  # type: ignore[method-assign]
        with pytest.raises(StorageFailed):
            await driver.wait(lambda: local.create_queue("orders"))
        assert await status(where, "/healthz", tls=False) == 503
        is_seen.set()
        with pytest.raises(StorageFailed, match="EIO"):
            await running
        with pytest.raises(aiohttp.ClientConnectionError):
            await status(where, "/healthz", tls=False)

    asyncio.run(check())


def test_commits_are_counted(config: Config) -> None:
    quiet = replace(config, console_port=None)

    async def check() -> None:
        local = open_directory(config.data, receipts=RECEIPTS)
        driver = LoopDriver(local, local.clock)
        before = driver.observer
        StandardListeners(quiet).late(local, driver, quiet, Tokens(config.data))
        assert driver.observer != before
        await driver.close()

    asyncio.run(check())


def test_a_listener_that_is_off_is_not_there(config: Config, tmp_path: Path) -> None:
    off = replace(config, console_port=None, app_port=None)
    tokens = Tokens(config.data)
    assert StandardListeners(off).early(off, tokens) == {}
    assert asyncio.run(late(off, tokens)) == {}
    by_socket = replace(off, app_socket=tmp_path / "app.sock", bind="0.0.0.0")
    assert list(asyncio.run(late(by_socket, tokens))) == ["app"], "a socket is on this computer"


def test_other_managers_have_listeners_of_their_own(config: Config) -> None:
    """Other computers may come in there, as MSMQ lets them."""
    open_to_all = replace(config, app_port=None, binary_port=0, ping_port=0, binary_bind="0.0.0.0")
    listeners = asyncio.run(late(open_to_all, Tokens(config.data)))
    assert {name: type(listener) for name, listener in listeners.items()} == {
        "binary": BinaryListener,
        "ping": PingListener,
    }


def test_in_hardened_mode_there_is_only_http(config: Config) -> None:
    """DMPR-021, DMPR-024, MSEC-192, MSEC-197, PGM-132: neither RPC, nor the binary protocol, nor
    pings; what the configuration has is there at each start.
    """
    config = replace(config, binary_port=0, ping_port=0, srmp_port=0, multicast="udp")
    config = replace(config, rpc_port=0, rpc_alternate_port=0, endpoint_mapper_port=0)
    tokens = Tokens(config.data)
    everything = {"app", "binary", "ping", "srmp", "rpc", "rpc_alternate", "endpoint_mapper"}
    everything.add("multicast")
    assert set(asyncio.run(late(config, tokens))) == everything
    with openmsmq.open(config.data) as manager:
        manager.configure(hardened=True)
    assert set(asyncio.run(late(config, tokens))) == {"app", "srmp"}
    with openmsmq.open(config.data) as manager:
        manager.configure(hardened=False)
    assert set(asyncio.run(late(config, tokens))) == everything


def test_the_configuration_says_at_each_start_which_directory_it_is(config: Config) -> None:
    """DMPR-019, DMPR-020: the store has neither controllers nor whether there are any."""
    controllers = ("ldap://dc1.example.com", "ldap://192.0.2.7", "ldaps://dc2.example.com")
    joined = replace(config, directory=controllers)

    async def check(config: Config, is_used: bool, servers: tuple[str, ...]) -> None:
        local = open_directory(config.data, receipts=RECEIPTS)
        driver = LoopDriver(local, local.clock)
        listeners = StandardListeners(config).late(local, driver, config, Tokens(config.data))
        assert (local.directory.is_used, local.directory.servers) == (is_used, ())
        service = listeners.get("directory")
        if isinstance(service, DirectoryService):
            assert await service.directory.tree.controllers() == servers
        assert (service is not None) is is_used
        await driver.close()

    for _ in range(2):
        asyncio.run(check(config, is_used=False, servers=()))
        asyncio.run(check(joined, is_used=True, servers=("DC1", "DC2")))


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_computers_are_not_let_in_just_so(config: Config, bind: str) -> None:
    far = replace(config, bind=bind)
    with pytest.raises(InvalidParameter, match="other computers can reach it"):
        StandardListeners(far).early(far, Tokens(far.data))
    with pytest.raises(ConfigError, match="other computers can reach it"):
        asyncio.run(late(far, Tokens(far.data)))
    careless = replace(far, allow_insecure=True)
    assert StandardListeners(careless).early(careless, Tokens(far.data))
    assert asyncio.run(late(careless, Tokens(far.data)))


def test_other_computers_are_let_in_with_tls_and_tokens(config: Config, made: Path) -> None:
    far = with_tls(replace(config, bind="0.0.0.0"), made)
    tokens = Tokens(far.data)
    with pytest.raises(ConfigError, match="a token"):
        asyncio.run(late(far, tokens))
    tokens.create("read")
    assert asyncio.run(late(far, tokens))
    clear = replace(config, bind="0.0.0.0")
    with pytest.raises(ConfigError, match="--tls-cert"):
        asyncio.run(late(clear, tokens))


def test_a_certificate_with_an_entry_is_as_good_as_a_token(config: Config, made: Path) -> None:
    far = with_tls(replace(config, bind="0.0.0.0"), made, client_ca=True)
    with pytest.raises(ConfigError, match="a certificate alone gives no rights"):
        asyncio.run(late(far, Tokens(far.data)))
    entries = {"CN=web shop": Grant("send", certificate="CN=web shop")}
    assert asyncio.run(late(replace(far, tls_clients=entries), Tokens(far.data)))


def test_the_console_asks_other_computers_for_a_token(config: Config, made: Path) -> None:
    far = with_tls(replace(config, bind="0.0.0.0"), made, client_ca=True)
    tokens = Tokens(far.data)
    trust = ssl.create_default_context(cafile=str(made / "ca.pem"))

    async def check() -> None:
        console = StandardListeners(far).early(far, tokens)["console"]
        where = await address(console)
        assert await status(where, "/healthz", trust) == 503, "it needs no token"
        assert await status(where, "/metrics", trust) == 401
        assert await status(where, "/metrics", trust, "omq_00000000_x") == 401
        for role, patterns, expected in (
            ("read", (), 200),
            ("watch", (), 200),
            ("admin", (), 200),
            ("send", (), 401),
            ("read", ("orders",), 401),
        ):
            _, token = tokens.create(role, patterns)
            assert await status(where, "/metrics", trust, token) == expected, (role, patterns)
        await console.stop("enough")

    asyncio.run(check())


def test_programs_are_asked_for_a_certificate_and_those_who_watch_are_not(
    config: Config, made: Path
) -> None:
    secure = with_tls(config, made, client_ca=True)
    app, console = server_tls(secure, ask_clients=True), server_tls(secure)
    assert app is not None
    assert console is not None
    assert app.verify_mode is ssl.CERT_REQUIRED
    assert [found["subject"] for found in app.get_ca_certs()] == [((("commonName", "Shop CA"),),)]
    assert console.verify_mode is ssl.CERT_NONE
    plain = server_tls(with_tls(config, made), ask_clients=True)
    assert plain is not None
    assert plain.verify_mode is ssl.CERT_NONE
    assert server_tls(config) is None
    for context in (app, console, plain):
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_renewed_certificate_is_shown_from_then_on(
    config: Config, made: Path, tmp_path: Path
) -> None:
    for name in ("server.pem", "server.key"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    secure = with_tls(config, tmp_path)

    async def check() -> None:
        listeners = StandardListeners(secure)
        console = listeners.early(secure, Tokens(config.data))["console"]
        host, port = (await address(console)).split(":")
        loop = asyncio.get_running_loop()
        first = await loop.run_in_executor(None, ssl.get_server_certificate, (host, int(port)))
        make_certificates(tmp_path)
        listeners.renew(secure)
        second = await loop.run_in_executor(None, ssl.get_server_certificate, (host, int(port)))
        await console.stop("enough")
        assert first in (made / "server.pem").read_text()
        assert second in (tmp_path / "server.pem").read_text()
        assert first != second

    asyncio.run(check())
    StandardListeners(config).renew(config)


@pytest.mark.parametrize("name", ["tls_cert", "tls_key", "tls_client_ca"])
@pytest.mark.parametrize("content", [None, b"nonsense"], ids=["missing", "nonsense"])
def test_a_bad_certificate_is_refused_in_words(
    config: Config, made: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    bad = tmp_path / "bad.pem"
    if content is not None:
        bad.write_bytes(content)
    secure = with_tls(config, made, client_ca=True)
    given: dict[str, Any] = {name: bad}
    with pytest.raises(ConfigError, match=r"bad\.pem"):
        StandardListeners(replace(secure, **given))


def test_an_encrypted_key_is_refused_without_a_prompt(
    config: Config, made: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "locked.key"
    command = [
        "openssl",
        "ec",
        "-aes256",
        "-passout",
        "pass:secret",
        "-in",
        str(made / "server.key"),
    ]
    subprocess.run([*command, "-out", str(locked)], check=True, capture_output=True)
    with pytest.raises(ConfigError, match=r"locked\.key"):
        server_tls(replace(with_tls(config, made), tls_key=locked))


def test_rate_and_window_of_multicast_are_configured(tmp_path: Path) -> None:
    """PGM-069."""
    config = Config(data=tmp_path, multicast="udp", multicast_rate=100, multicast_window=60)
    local = QueueManager(MemoryStore(), SystemClock(), name="shop01")
    driver = LoopDriver(local, local.clock)
    timing = StandardListeners(config)._multicast(local, driver, config)._settings.timing
    assert (timing.rate, timing.window_s) == (100 * 1024, 60)
    asyncio.run(driver.close())


def test_a_window_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="take a smaller window"):
        Config(data=tmp_path, multicast_rate=10_000, multicast_window=300)
