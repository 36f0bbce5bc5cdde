"""Commands run on a queue manager in a directory, and most of them on a service, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli, ServiceCli, forget_environment
from tests.unit.client.services import Service

ON_BOTH = {
    f"tests.unit.cli.{name}"
    for name in (
        *("test_apply", "test_explain", "test_queue", "test_transaction", "doctor.test_command"),
        "topology.test_command",
        *(
            f"messages.test_{name}"
            for name in ("export", "group", "imports", "move", "read", "send")
        ),
    )
}


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_environment(monkeypatch)


def pytest_configure() -> None:
    """A module that is gone would silently run in one place only."""
    for name in ON_BOTH:
        path = Path(__file__).parents[3].joinpath(*name.split(".")).with_suffix(".py")
        assert path.exists(), f"{name} is no module"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what works with a service, too, on both."""
    if "cli" in metafunc.fixturenames and metafunc.module.__name__ in ON_BOTH:
        metafunc.parametrize("cli", ["data", "service"], indirect=True)


@pytest.fixture
def embedded(tmp_path: Path) -> Cli:
    """Commands on a manager in a directory, which is not there yet."""
    return Cli(tmp_path / "data")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServiceCli]:
    """Commands on a service."""
    service = Service(tmp_path / "data")
    yield ServiceCli(service.data, service)
    service.close()


@pytest.fixture
def cli(request: pytest.FixtureRequest) -> Cli:
    """Commands on a manager in a directory; of some modules then also on a service."""
    where = getattr(request, "param", "data")
    found: Cli = request.getfixturevalue("served" if where == "service" else "embedded")
    return found


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands believe that a person types and reads."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
