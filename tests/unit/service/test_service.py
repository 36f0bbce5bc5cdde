"""The life of a service, with fake listeners."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import openmsmq
from openmsmq.access.tokens import TOKENS_FILE, Tokens, TokensDamaged
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    AccessDenied,
    MQError,
    StorageFailed,
    StoreDamaged,
    StoreDenied,
    StoreInUse,
)
from openmsmq.names.path import parse_path_name
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.startup import open_directory
from openmsmq.service import service as module
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.service import (
    RETRY_AFTER,
    Address,
    CannotStart,
    Service,
    ServiceListener,
    notify_systemd,
)
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.manager_state import ManagerState

PATIENCE = 20.0


async def until(condition: Callable[[], object]) -> None:
    """Wait until something has happened that no task tells of."""
    while not condition():  # noqa: ASYNC110  # a service tells no one in this process
        await asyncio.sleep(0.001)


@dataclass
class FakeListener:
    """Writes down what becomes of it."""

    name: str
    log: list[str]
    address: Address = ("127.0.0.1", 7)
    failure: BaseException | None = None
    ending: Callable[[], Awaitable[None]] | None = None

    async def start(self) -> Address:
        if self.failure is not None:
            raise self.failure
        self.log.append(f"{self.name} opens")
        return self.address

    async def stop(self, reason: str) -> None:
        self.log.append(f"{self.name} closes: {reason}")
        if self.ending is not None:
            await self.ending()


@dataclass
class House:
    """A service whose listeners can be looked at."""

    config: Config
    retry_after: tuple[float, float] = (0.01, 0.02)
    new_config: Config | MQError | None = None
    log: list[str] = field(default_factory=list)
    renewed: int = 0
    local: QueueManager | None = None
    driver: LoopDriver | None = None
    tokens: Tokens | None = None

    def __post_init__(self) -> None:
        self.console = FakeListener("console", self.log, ("::1", 8))
        self.app = FakeListener("app", self.log)
        self.service = Service(self.config, self, reload=self.reload, retry_after=self.retry_after)

    def early(self, config: Config, tokens: Tokens) -> Mapping[str, ServiceListener]:
        return {"console": self.console}

    def late(
        self, local: QueueManager, driver: LoopDriver, config: Config, tokens: Tokens
    ) -> Mapping[str, ServiceListener]:
        self.local, self.driver, self.tokens = local, driver, tokens
        self.log.append(f"store opens: {local.state}")
        return {"app": self.app}

    def renew(self, config: Config) -> None:
        assert config == (self.new_config or self.config)
        self.renewed += 1

    def reload(self) -> Config:
        if isinstance(self.new_config, MQError):
            raise self.new_config
        return self.new_config or self.config

    async def until_ready(self) -> None:
        """Wait for the start."""
        await until(lambda: self.service.state is ManagerState.READY)

    def live(self, work: Callable[[], Awaitable[None]] | None = None) -> None:
        """From the start to the end, with some work when it is ready."""

        async def life() -> None:
            running = asyncio.create_task(self.service.run())
            ready = asyncio.create_task(self.until_ready())
            await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if not running.done():
                if work is not None:
                    await work()
                self.service.stop("enough")
            await running

        asyncio.run(asyncio.wait_for(life(), PATIENCE))


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """systemd is not asked, and logs stay where the tests can see them."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr(module, "set_up_logs", lambda *_: None)


@pytest.fixture(autouse=True)
def _everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A service in a directory that is not there yet."""
    return House(Config(data=tmp_path / "data", ready_file=tmp_path / "ready.json"))


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """The fields of all such events that were logged."""
    return [r.__dict__["fields"] for r in caplog.records if r.getMessage() == event]


def test_listeners_open_in_order_and_close_in_reverse(house: House) -> None:
    """SYS-040, SYS-117."""
    house.live()
    assert house.log == [
        "console opens",
        "store opens: initializing",
        "app opens",
        "app closes: enough",
        "console closes: enough",
    ]
    assert house.service.state is ManagerState.STOPPED
    assert house.local is not None
    assert house.local.state is ManagerState.STOPPED


def test_the_manager_knows_the_state_of_the_service(house: House) -> None:
    seen: list[tuple[ManagerState, ManagerState]] = []

    async def look() -> None:
        assert house.local is not None
        seen.append((house.service.state, house.local.state))

    house.app.ending = look
    house.live(look)
    ready, stopping = ManagerState.READY, ManagerState.STOPPING
    assert seen == [(ready, ready), (stopping, stopping)]


def test_what_it_holds_is_there_at_the_next_start(house: House) -> None:
    """SYS-037: commits that were begun are finished before the store is closed."""
    pending: list[asyncio.Task[Any]] = []

    async def work() -> None:
        local, driver = house.local, house.driver
        assert local is not None
        assert driver is not None
        creating = driver.wait(lambda: local.create_queue("orders"))
        pending.append(asyncio.create_task(creating))
        await asyncio.sleep(0)

    house.live(work)
    assert pending[0].done()
    again = open_directory(house.config.data, receipts=RECEIPTS)
    assert again.find_queue("orders").name == r"private$\orders"
    again.store.close()


def test_the_ready_file_is_there_while_it_is_ready(house: House, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ready.write_text("left by one that was killed")
    seen: list[dict[str, Any]] = []

    async def look() -> None:
        seen.append(json.loads(ready.read_text()))

    async def closing() -> None:
        assert not ready.exists(), "it goes before the listeners close"

    async def opening() -> Address:
        assert not ready.exists(), "it comes when all listeners are open"
        return ("127.0.0.1", 7)

    house.app.start = opening  # type: ignore[method-assign]  # to look at that moment
    house.app.ending = closing
    house.live(look)
    assert house.local is not None
    assert seen == [
        {
            "pid": os.getpid(),
            "id": str(house.local.identity),
            "name": socket.gethostname(),
            "binary": None,
            "binary_tls": None,
            "ping": None,
            "app": ["127.0.0.1", 7],
            "rpc": None,
            "rpc_alternate": None,
            "endpoint_mapper": None,
            "srmp": None,
            "multicast": None,
            "console": ["::1", 8],
        }
    ]
    assert list(tmp_path.glob("*ready*")) == []
    assert list(tmp_path.glob(".*")) == []


def test_no_ready_file_is_fine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    house = House(Config(data=tmp_path / "data", name="shop01"))
    house.app.address = "/run/app.sock"
    house.live()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert events(caplog, "listening") == [
        {"listener": "console", "address": "[::1]:8"},
        {"listener": "app", "address": "/run/app.sock"},
    ]
    [ready] = events(caplog, "ready")
    assert (ready["name"], ready["pid"]) == ("shop01", os.getpid())
    assert events(caplog, "stopping") == [{"reason": "enough"}]


def test_a_ready_file_that_cannot_be_written_ends_the_start(tmp_path: Path) -> None:
    house = House(Config(data=tmp_path / "data", ready_file=tmp_path / "missing" / "ready"))
    with pytest.raises(CannotStart, match="the ready file"):
        house.live()
    assert house.service.state is ManagerState.STOPPED
    assert "app closes" in " ".join(house.log)


def test_other_names_mean_the_manager_too(tmp_path: Path) -> None:
    house = House(Config(data=tmp_path, name="shop01", aliases=("shop", "shop.example")))
    house.live()
    assert house.local is not None
    for computer in ("shop01", "SHOP", "shop.example", "."):
        name = parse_path_name(rf"{computer}\private$\orders")
        assert house.local.resolver.local(name) == r"private$\orders"
    assert house.local.resolver.local(parse_path_name(r"office\private$\orders")) is None


def test_a_start_that_fails_is_tried_again(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """SYS-038, SYS-039, SYS-110, SYS-119, DMPR-029."""
    house = House(replace(house.config, retry=True))
    other = open_directory(house.config.data, receipts=RECEIPTS)

    async def life() -> None:
        running = asyncio.create_task(house.service.run())
        await until(lambda: len(events(caplog, "cannot start yet")) == 3)
        assert house.service.state is ManagerState.STOPPED
        assert house.log == ["console opens"], "it tells how it goes meanwhile"
        other.store.close()
        await house.until_ready()
        house.service.stop("enough")
        await running

    asyncio.run(asyncio.wait_for(life(), PATIENCE))
    delays = [fields["retry_after"] for fields in events(caplog, "cannot start yet")]
    assert delays[:3] == [0.01, 0.02, 0.02]
    errors = [r for r in caplog.records if r.getMessage() == "cannot start yet"]
    assert all(r.exc_info and isinstance(r.exc_info[1], StoreInUse) for r in errors)
    assert RETRY_AFTER == (120, 900)


def test_it_can_be_stopped_while_it_waits_to_try_again(house: House) -> None:
    other = open_directory(house.config.data, receipts=RECEIPTS)
    house = House(replace(house.config, retry=True), retry_after=(1000, 1000))

    async def life() -> None:
        running = asyncio.create_task(house.service.run())
        await asyncio.sleep(0.05)
        house.service.stop("enough")
        await running

    asyncio.run(asyncio.wait_for(life(), PATIENCE))
    other.store.close()
    assert house.log == ["console opens", "console closes: enough"]
    assert house.service.state is ManagerState.STOPPED


def test_without_retry_the_first_failure_is_logged_and_ends_the_start(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    other = open_directory(house.config.data, receipts=RECEIPTS)
    with pytest.raises(StoreInUse):
        house.live()
    other.store.close()
    assert house.log[0] == "console opens"
    assert house.log[1].startswith("console closes: cannot start: Another process has this")
    assert [r.levelname for r in caplog.records if r.getMessage() == "cannot start"] == ["ERROR"]


def test_what_does_not_pass_is_not_tried_again(house: House) -> None:
    """SYS-097: a damaged store stays down until someone repairs it."""
    house.config.data.mkdir()
    (house.config.data / "data.mdb").write_bytes(b"nonsense" * 4096)
    with pytest.raises(MQError) as info:
        house.live()
    assert isinstance(info.value, StoreDamaged) or "Foreign" in type(info.value).__name__
    assert house.service.state is ManagerState.STOPPED


def test_a_directory_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    """Nothing about it changes by itself: systemd is to see that the start failed."""
    (tmp_path / "file").write_bytes(b"")
    house = House(Config(data=tmp_path / "file" / "data", retry=True), retry_after=(1000, 1000))
    with pytest.raises(StoreDenied, match="Check its path"):
        house.live()
    assert house.service.state is ManagerState.STOPPED


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_so_does_one_without_permission(
    house: House, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As root, tests may do everything."""

    def denied(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    house = House(replace(house.config, retry=True), retry_after=(1000, 1000))
    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(StoreDenied, match=os.strerror(code)):
        house.live()


def test_a_store_that_fails_ends_the_service(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not healthy from that moment on, and the one who started it hears of it."""
    states: list[ManagerState] = []

    async def look() -> None:
        assert house.local is not None
        states.append(house.local.state)

    async def work() -> None:
        assert house.local is not None
        assert house.driver is not None
        store, local = house.local.store, house.local
        house.app.ending = look

        def broken() -> None:
            store.abort()
            raise StorageFailed("EIO")

        store.commit = broken  # type: ignore[method-assign]
        with pytest.raises(StorageFailed, match="EIO"):
            await house.driver.wait(lambda: local.create_queue("orders"))
        await look()

    with pytest.raises(StorageFailed, match="EIO"):
        house.live(work)
    assert states == [ManagerState.STOPPING] * 2
    assert house.service.state is ManagerState.STOPPED
    assert "cannot go on" in house.log[-1]
    assert any(record.levelno == logging.CRITICAL for record in caplog.records)
    assert house.config.ready_file is not None
    assert not house.config.ready_file.exists()
    open_directory(house.config.data, receipts=RECEIPTS).store.close()


def test_damaged_tokens_end_the_start(house: House) -> None:
    house.config.data.mkdir()
    (house.config.data / TOKENS_FILE).write_text("nonsense")
    with pytest.raises(TokensDamaged):
        house.live()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError(98, "address already in use"), "app: address already in use. Is another queue"),
        (OSError(13, "Permission denied"), "app: Permission denied"),
        (OSError("odd"), "app: odd"),
    ],
    ids=["in use", "forbidden", "odd"],
)
def test_a_listener_that_cannot_be_opened_ends_the_start(
    house: House, failure: OSError, words: str
) -> None:
    """SYS-002, SYS-118."""
    house.app.failure = failure
    with pytest.raises(CannotStart) as info:
        house.live()
    assert words in info.value.detail
    assert house.log[-2].startswith("app closes: "), "a part of it may be open"
    assert house.log[-1].startswith("console closes: cannot start: ")
    open_directory(house.config.data, receipts=RECEIPTS).store.close()
    assert house.config.ready_file is not None
    assert not house.config.ready_file.exists()


def test_a_listener_may_refuse_in_its_own_words(house: House) -> None:
    house.console.failure = AccessDenied("no token")
    with pytest.raises(AccessDenied):
        house.live()
    assert len(house.log) == 1
    assert house.log[0].startswith("console closes: cannot start: ")


def test_a_listener_that_does_not_close_delays_nothing_else(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "STOP_WITHIN_S", 0.01)

    async def never() -> None:
        await asyncio.sleep(1000)

    house.app.ending = never
    house.live()
    assert events(caplog, "listener not closed") == [{"listener": "app"}]
    assert house.log[-1] == "console closes: enough"
    open_directory(house.config.data, receipts=RECEIPTS).store.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_a_signal_ends_it_in_good_order(house: House, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    async def life() -> None:
        running = asyncio.create_task(house.service.run())
        await house.until_ready()
        os.kill(os.getpid(), number)
        await running

    asyncio.run(asyncio.wait_for(life(), PATIENCE))
    assert house.log[-1] == f"console closes: {number.name}"
    assert signal.getsignal(number) == before


def test_a_second_signal_ends_it_at_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr("os._exit", codes.append)

    async def impatience() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)

    async def signalled() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)

    house.app.ending = impatience
    house.live(signalled)
    assert codes == [128 + signal.SIGTERM]


def test_sighup_changes_what_can_change(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.new_config = replace(house.config, log_level="debug", app_port=5, name="other")

    async def work() -> None:
        Tokens(house.config.data).create("read")
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: events(caplog, "reloaded"))

    house.live(work)
    assert events(caplog, "reloaded") == [
        {"changed": "log.level", "needs_restart": "manager.name, app.port"}
    ]
    assert house.service.config == replace(house.config, log_level="debug")
    assert house.renewed == 1
    assert house.tokens
    with openmsmq.open(house.config.data) as manager:
        created, reloaded = manager.audit()
    assert (created.act, created.who) == ("create token", f"unix:{os.getuid()}")
    assert (reloaded.act, reloaded.by) == ("reload configuration", "SIGHUP")
    words = "changed: log.level; needs a restart: manager.name, app.port"
    assert reloaded.reason == words


def test_a_reload_may_change_nothing(house: House, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        house.service.reload()

    house.live(work)
    assert events(caplog, "reloaded") == [{"changed": "nothing", "needs_restart": "nothing"}]


def test_a_reload_that_fails_leaves_everything_as_it_is(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.new_config = ConfigError("app.prot: no such key")

    async def work() -> None:
        house.service.reload()

    house.live(work)
    assert events(caplog, "not reloaded") == [{}]
    assert events(caplog, "reloaded") == []
    assert house.service.config == house.config


@pytest.mark.parametrize("abstract", [False, True], ids=["file", "abstract"])
def test_systemd_is_notified(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, abstract: bool
) -> None:
    path = f"@openmsmq-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path.replace("@", "\0"))
        systemd.settimeout(PATIENCE)
        house.live()
        assert [systemd.recv(100) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_a_systemd_that_does_not_listen_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nowhere"))
    notify_systemd("READY=1")
    assert events(caplog, "systemd does not listen") == [{}]
