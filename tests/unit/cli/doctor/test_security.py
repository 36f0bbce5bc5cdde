"""Listeners that others reach, and settings that are weak."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.cli.doctor.security import exposures, weak_settings
from openmsmq.service.backup import SERVING_FILE
from openmsmq.types.settings import Settings


def found(directory: Path, text: str) -> list[str]:
    (directory / SERVING_FILE).write_text(text)
    return [one.text for one in exposures(directory)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[binary]\nbind = "0.0.0.0"', "port 1801 of 0.0.0.0 can send"),
        ('[manager]\nbind = "0.0.0.0"\n[tls]\nallow_insecure = true', "administers this manager"),
        ('[app]\nsocket = "s"\nsocket_for = "everyone"', "every user of this computer"),
    ],
)
def test_what_others_reach_is_named(tmp_path: Path, text: str, words: str) -> None:
    [only] = found(tmp_path, text)
    assert words in only


@pytest.mark.parametrize(
    "text",
    ["", '[binary]\nport = "off"\nbind = "0.0.0.0"', '[app]\nsocket = "s"', "no TOML", "[x]"],
)
def test_what_no_other_computer_reaches_is_not(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


def test_a_service_that_never_ran_has_its_defaults(tmp_path: Path) -> None:
    assert list(exposures(tmp_path)) == []


def test_weak_settings_are_listed() -> None:
    """MSEC-202."""
    assert list(weak_settings(Settings())) == []
    words = [one.text for one in weak_settings(Settings(insecure_nacks=True, audit=0))]
    assert len(words) == 2
    assert "insecure_nacks" in words[0]
