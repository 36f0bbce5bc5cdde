"""The README's tour works as one session: its blocks in their order, in one clean directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tools.generate_docs import ROOT

import openmsmq
from tests.docs.console import Console, commands, is_shown, sections

README = ROOT / "README.md"


def test_the_tour_can_be_followed_from_one_section_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "MANAGER", "TOKEN", "TLS_CA"):
        monkeypatch.delenv(f"OPENMSMQ_{name}", raising=False)
    monkeypatch.setattr("socket.gethostname", lambda: "shop01")
    monkeypatch.setattr(sys, "argv", ["openmsmq"])
    connect, ran = openmsmq.connect, []
    with Console() as console:

        def connect_there(_: str, **given: Any) -> openmsmq.Manager:
            return connect(console.address, **given)

        monkeypatch.setattr(openmsmq, "connect", connect_there)
        for language, block in sections(README, "console", "python"):
            if "spark" in block:
                continue  # tests/spark/test_docs.py
            ran.append(language)
            if language == "python":
                exec(compile(block, README, "exec"), {})
                continue
            for command, expected in commands(block):
                output = console.run(command)
                assert is_shown(output, expected), f"{command}\n{output}instead of\n{expected}"
    assert ran.count("python") >= 3
    assert ran.count("console") >= 4
