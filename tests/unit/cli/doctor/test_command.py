"""`openmsmq doctor`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.cli.commands import Cli, ServiceCli

from openmsmq.access.tokens import Tokens
from openmsmq.cli.doctor import command as doctor
from openmsmq.cli.doctor.findings import Finding, Level

Having = Callable[..., None]


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Having:
    """Let the check-up find something."""

    def find(*findings: Finding) -> None:
        monkeypatch.setattr(doctor, "check_up", lambda _: iter(findings))

    return find


def test_all_is_well(cli: Cli, having: Having) -> None:
    having(Finding(Level.FINE, "disk", "enough"), Finding(Level.NOTE, "history", "off", "Do."))
    fine, note, advice, _, summary = cli.lines("doctor")
    assert fine.split(maxsplit=1) == ["fine", "disk: enough"]
    assert note.split(maxsplit=1) == ["note", "history: off"]
    assert advice.strip() == "Do."
    assert summary == "no problems found"


@pytest.mark.parametrize("level", [Level.RISK, Level.PROBLEM])
def test_something_needs_attention(cli: Cli, having: Having, level: Level) -> None:
    having(Finding(level, "disk", "full\x1b", "Free some."), Finding(Level.FINE, "a", "b"))
    output = cli("doctor", code=1).stdout
    assert "disk: full�" in output
    assert output.endswith("1 problem found\n")
    assert cli.objects("doctor", code=1)[0] == {
        "level": level.value,
        "subject": "disk",
        "text": "full\x1b",
        "advice": "Free some.",
    }


def test_a_new_manager_is_well(cli: Cli) -> None:
    cli("queue", "create", "orders")
    levels = {found["level"] for found in cli.objects("doctor")}
    assert levels <= {"fine", "note"}


def test_no_manager_is_not_well(embedded: Cli) -> None:
    assert "StoreMissing" in embedded("doctor", code=1).stdout


def test_a_service_that_does_not_answer_is_not_well(served: ServiceCli) -> None:
    assert "fine     service: server1 at unix:" in served("doctor").stdout
    served.service.stop()
    assert "problem  service: unix:" in served("doctor", code=1).stdout


def test_what_a_token_does_not_allow_is_left_out(served: ServiceCli) -> None:
    _, token = Tokens.load(served.directory).create("read", ())
    notes = [o for o in served.objects("--token", token, "doctor") if o["level"] == "note"]
    assert [note["subject"] for note in notes] == ["prepared", "units", "peers", "multicast"]
