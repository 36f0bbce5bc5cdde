"""File descriptors: how many there are, and who may have them."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store import children

from openmsmq.service.configuration import Config
from openmsmq.service.descriptors import extend_table, needed, raise_limit, shares
from openmsmq.service.limits import CONSOLE_MAX, DESCRIPTORS_MAX, FILES_MAX

INFINITE = resource.RLIM_INFINITY
CONFIG = Config(data=Path("d"))


class Limits:
    """What the system says of the limit, and what it is given."""

    def __init__(self, soft: int, hard: int, error: Exception | None = None) -> None:
        self.now = soft, hard
        self._error = error

    def get(self, _: int) -> tuple[int, int]:
        return self.now

    def set(self, _: int, limits: tuple[int, int]) -> None:
        if self._error is not None:
            raise self._error
        self.now = limits


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (1024, 4096, 20_000, 4096),
        (1024, 1_048_576, 20_000, DESCRIPTORS_MAX),
        (1024, 1_048_576, 100_000, 100_000),
        (1024, INFINITE, 20_000, DESCRIPTORS_MAX),
        (500_000, 1_048_576, 20_000, 500_000),
        (INFINITE, INFINITE, 20_000, DESCRIPTORS_MAX),
        (256, 256, 20_000, 256),
    ],
)
def test_the_soft_limit_is_raised_to_the_hard_one_within_reason(
    soft: int, hard: int, wanted: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(soft, hard)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert raise_limit(wanted) == expected
    assert limits.now == (soft if soft in (expected, INFINITE) else expected, hard)


@pytest.mark.parametrize("error", [PermissionError(), ValueError()])
def test_where_that_is_not_allowed_it_stays_as_it_is(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(1024, 4096, error)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert raise_limit(20_000) == 1024


def test_with_enough_of_them_all_get_what_is_configured() -> None:
    assert shares(CONFIG, needed(CONFIG)) == (10_000, 10_000, CONSOLE_MAX)
    few = Config(data=Path("d"), clients_max=5, sessions_max=8)
    assert shares(few, 4096) == (5, 8, CONSOLE_MAX)


@given(st.integers(16, 30_000), st.integers(1, 20_000), st.integers(1, 20_000))
def test_connections_leave_some_for_files(descriptors: int, clients: int, sessions: int) -> None:
    config = Config(data=Path("d"), clients_max=clients, sessions_max=sessions)
    found = shares(config, descriptors)
    assert sum(found) + min(FILES_MAX, descriptors // 4) <= descriptors
    assert 1 <= found.clients <= clients
    assert 1 <= found.sessions <= sessions
    assert 1 <= found.console <= CONSOLE_MAX


def table_size() -> int:
    """How many descriptors there is a place for."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("FDSize:")).split()[1])


def test_the_table_of_descriptors_is_made_large_at_once() -> None:
    code = """
        from tests.unit.service.test_descriptors import extend_table, table_size
        before = table_size()
        extend_table(1500)
        print(before < 1500 <= table_size())
    """
    assert children.run(code) == ["True"]


def test_a_table_that_cannot_be_larger_stays_as_it_is() -> None:
    size, (soft, _) = table_size(), resource.getrlimit(resource.RLIMIT_NOFILE)
    extend_table(soft + 1)
    assert table_size() == size
