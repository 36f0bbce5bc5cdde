"""The command that runs seeds: what it tries, when it stops, and what it reports."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.simulation import __main__ as command
from tests.simulation.world import PARTICIPANTS, Failed, World


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd seeds fail."""

    def simulate(seed: int, **given: Any) -> World:
        world = World(seed)
        if seed % 2:
            raise Failed(f"seed {seed}: wrong", world)
        return world

    monkeypatch.setattr(command, "simulate", simulate)


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *given: str
) -> tuple[int, list[str]]:
    monkeypatch.setattr(sys, "argv", ["simulation", "--jobs", "1", *given])
    return command.main(), capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("fails")
def test_it_stops_at_the_first_seed_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = run(monkeypatch, capsys, "--seeds", "6")
    assert code == 1
    assert lines[0] == "seed 1: wrong"
    assert lines[1].startswith("seeds 0 to 5: 2 tried, 1 failed [1]; with ")


@pytest.mark.usefixtures("fails")
def test_it_collects_all_that_fail_if_asked_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = run(monkeypatch, capsys, "--keep-going", "--first", "2", "--seeds", "4")
    assert code == 1
    assert lines[-1].startswith("seeds 2 to 5: 4 tried, 2 failed [3, 5]; with ")
    assert " s of CPU each, " in lines[-1]


@pytest.mark.usefixtures("fails")
def test_it_tries_only_worlds_with_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines = run(monkeypatch, capsys, "--keep-going", "--with", "dependents", "--seeds", "20")
    tried = [seed for seed in range(20) if "dependents" in World(seed).participants]
    assert f": {len(tried)} tried, " in lines[-1]
    assert f"dependents {len(tried)}" in lines[-1]


def test_a_good_share_of_all_worlds_has_each_participant() -> None:
    """But for HTTP, whose share is given."""
    worlds = [World(seed).participants for seed in range(100)]
    rare = [
        name
        for name in PARTICIPANTS
        if name != "http" and sum(name in world for world in worlds) < 8
    ]
    assert rare == []
    assert "http" in World(0, also=(), http=1.0).participants
