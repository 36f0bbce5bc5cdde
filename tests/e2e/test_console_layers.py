"""How the map of the console is laid out: in layers, bounded, also where messages go in circles."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from tests.e2e.console_pages import ROOT

SOURCE = ROOT / "frontend/src/layers.ts"
NODE = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
ESBUILD = ROOT / "frontend/node_modules/esbuild/bin/esbuild"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None or not ESBUILD.exists(), reason="the pages are not built"),
]
DRAW = """
import { joined, layersOf } from "./layers.mjs";
const asked = JSON.parse(process.argv[2]);
const ways = joined(asked.queues, asked.names);
console.log(JSON.stringify({ ways, layers: layersOf(ways, asked.names) }));
"""


def drawn(folder: Path, names: list[str], *queues: tuple[str, str]) -> Any:
    """What is drawn of outgoing queues: who has it, and what it is for."""
    assert NODE is not None
    build = [NODE, str(ESBUILD), str(SOURCE), f"--outfile={folder}/layers.mjs"]
    script = folder / "draw.mjs"
    script.write_text(DRAW)
    rows = [
        {"from": one, "to": to, "waiting": n, "rate": 1, "failures": 0, "error": ""}
        for n, (one, to) in enumerate(queues)
    ]
    run(build, check=True, capture_output=True)
    asked = json.dumps({"names": names, "queues": rows})
    done = run([NODE, str(script), asked], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_who_sends_stands_left_of_whom_it_sends_to(tmp_path: Path) -> None:
    found = drawn(
        tmp_path,
        ["shop", "office", "idle"],
        ("shop", r"DIRECT=OS:OFFICE\private$\books"),
        ("shop", r"DIRECT=OS:office\private$\orders"),
        ("office", r"DIRECT=TCP:10.0.0.7\private$\x"),
        ("shop", r"DIRECT=HTTPS://depot/msmq/private$/y"),
    )
    assert found["layers"] == [["shop", "idle"], ["office", "depot"], ["10.0.0.7"]]
    books = found["ways"][0]
    assert (books["to"], books["waiting"], books["rate"]) == ("office", 1, 2)


def test_a_circle_ends_and_all_are_drawn_once(tmp_path: Path) -> None:
    ring = [("a", r"DIRECT=OS:b\q"), ("b", r"DIRECT=OS:c\q"), ("c", r"DIRECT=OS:a\q")]
    found = drawn(tmp_path, ["a", "b", "c"], *ring, ("a", r"DIRECT=OS:a\q"))
    assert sorted(name for layer in found["layers"] for name in layer) == ["a", "b", "c"]
    assert len(found["ways"]) == 3, "none to itself"


def test_a_hundred_managers_are_sixty_boxes_and_no_message_is_lost(tmp_path: Path) -> None:
    queues = [("shop", rf"DIRECT=OS:m{n}\private$\q") for n in range(100)]
    found = drawn(tmp_path, ["shop"], *queues)
    names = [name for layer in found["layers"] for name in layer]
    assert len(names) == 60
    assert "other managers" in names
    assert "m99" in names, "it has the most messages"
    assert sum(way["waiting"] for way in found["ways"]) == sum(range(100))
