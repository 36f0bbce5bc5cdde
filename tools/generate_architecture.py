"""Writes docs/architecture.md and its pictures from the docstrings of the folders.

The order of the folders is that of the layer test; the first paragraph of a folder's docstring is
what the table says about it. The walks name the folders that a message passes.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from tests.tidy.test_layers import LAYERS
from tests.tidy.test_purity import PURE

from tools import draw
from tools.draw import Step

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "src" / "openmsmq"
PICTURES: Final = ROOT / "docs" / "pictures"
LAYER_NAMES: Final = {
    "errors": "errors",
    "limits": "bounds",
    "clock": "system",
    "wire": "bytes",
    "names": "values",
    "packet": "packets",
    "types": "public values",
    "app_protocol": "frames",
    "engine": "rules",
    "store": "disk",
    "runtime": "drivers",
    "capture": "shared parts",
    "transports": "other managers",
    "app_server": "servers",
    "service": "process",
    "client": "programs",
    "aio": "programs",
    "spark": "frameworks",
    "pipelines": "pipelines",
    "demo": "demonstration",
    "cli": "commands",
}
"What a layer is called in the picture, by one of its folders."
CLIENT, SERVER, FRAMES = "client", "app_server", "app_protocol"
MESSAGES, COMMIT, STORE = "engine/messages", "engine/commit", "store"
SEND: Final = (
    "A send: from a program over a socket to the disk and back",
    (
        (CLIENT, "box"),
        (FRAMES, "pure"),
        (SERVER, "box"),
        (MESSAGES, "pure"),
        (COMMIT, "pure"),
        (STORE, "disk"),
    ),
    (
        Step(CLIENT, FRAMES, "SEND frame"),
        Step(FRAMES, SERVER, "decoded, checked"),
        Step(SERVER, MESSAGES, "send, as caller"),
        Step(MESSAGES, MESSAGES, "authorized? within the quota? duplicate?"),
        Step(MESSAGES, COMMIT, "joins the batch"),
        Step(COMMIT, STORE, "one commit"),
        Step(STORE, COMMIT, "synced"),
        Step(COMMIT, SERVER, "every operation of the batch is answered"),
        Step(SERVER, FRAMES, "ANSWER frame"),
        Step(FRAMES, CLIENT, "message id"),
    ),
)
STREAM: Final = (
    "A stream: messages are delivered ahead, and removed when they are acknowledged",
    SEND[1],
    (
        Step(CLIENT, SERVER, "SUBSCRIBE frame with a prefetch count"),
        Step(SERVER, MESSAGES, "read and hold"),
        Step(MESSAGES, SERVER, "messages, held"),
        Step(SERVER, CLIENT, "DELIVERY frames, while the program works"),
        Step(CLIENT, SERVER, "END frame: remove, or give back"),
        Step(SERVER, MESSAGES, "remove"),
        Step(MESSAGES, COMMIT, "joins the batch"),
        Step(COMMIT, STORE, "one commit"),
        Step(COMMIT, SERVER, "answered; the credit returns"),
        Step(SERVER, CLIENT, "more DELIVERY frames"),
    ),
)
OUTGOING, MQQB, PEER, ARRIVALS = "engine/outgoing", "transports/mqqb", "peer's mqqb", "its arrivals"
TRANSFER: Final = (
    "A transfer: a transactional message to another manager, exactly once and in order",
    (
        (STORE, "disk"),
        (OUTGOING, "pure"),
        (MQQB, "box"),
        (PEER, "box"),
        (ARRIVALS, "pure"),
        ("its store", "disk"),
    ),
    (
        Step(STORE, OUTGOING, "next messages"),
        Step(OUTGOING, MQQB, "numbered packets"),
        Step(MQQB, PEER, "UserMessage packets"),
        Step(PEER, ARRIVALS, "packet, sender"),
        Step(ARRIVALS, ARRIVALS, "duplicate? in order? within the quota?"),
        Step(ARRIVALS, "its store", "stored, if new"),
        Step("its store", ARRIVALS, "synced"),
        Step(ARRIVALS, PEER, "outcomes"),
        Step(PEER, MQQB, "SessionAck: stored"),
        Step(PEER, MQQB, "OrderAck: all up to 7"),
        Step(MQQB, OUTGOING, "acknowledged"),
        Step(OUTGOING, STORE, "removed"),
    ),
)
WALKS: Final = {"walk-send": SEND, "walk-stream": STREAM, "walk-transfer": TRANSFER}
FRAME: Final = ROOT / "tools" / "architecture.md"
"The page around what is generated: `{layers}`, `{folders}` and the walks are put in."


def page() -> str:
    """The text of docs/architecture.md."""
    text = FRAME.read_text()
    for name, (title, _, _) in WALKS.items():
        text = text.replace(f"{{{name}}}", f"![{title}](pictures/{name}.svg)")
    words = "The layers of the package; a folder imports from lower ones only"
    text = text.replace("{layers}", f"![{words}](pictures/layers.svg)")
    return text.replace("{folders}", "\n".join(_table()))


def pictures() -> dict[Path, str]:
    """The drawings of the page."""
    drawn = {"layers": draw.layers("The layers of the package, highest first", _rows())}
    drawn |= {name: draw.walk(*content) for name, content in WALKS.items()}
    return {PICTURES / f"{name}.svg": text for name, text in drawn.items()}


def folders() -> list[Path]:
    """Every folder of the package with modules in it, in the order of the layers."""
    order = {part: rank for rank, layer in enumerate(LAYERS) for part in sorted(layer)}
    found = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    return sorted(found, key=lambda path: (order[_part(path)], path.relative_to(PACKAGE).parts))


def summary(folder: Path) -> str:
    """The first paragraph of a folder's docstring, on one line."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _table() -> list[str]:
    lines = ["| Folder | Holds |", "|---|---|"]
    for folder in folders():
        below = folder.relative_to(PACKAGE)
        indent = "&emsp;" * (len(below.parts) - 1)
        lines.append(f"| {indent}`{below}/` | {summary(folder)} |")
    return lines


def _rows() -> list[tuple[str, list[str], bool]]:
    """The layers that have something in them, highest first."""
    rows = []
    for layer in reversed(LAYERS):
        there = sorted(part for part in layer if part != "__main__" and _exists(part))
        if there:
            called = next((LAYER_NAMES[part] for part in there if part in LAYER_NAMES), "")
            rows.append((called, there, set(there) <= PURE))
    return rows


def _exists(part: str) -> bool:
    return (PACKAGE / part / "__init__.py").is_file() or (PACKAGE / f"{part}.py").is_file()


def _part(folder: Path) -> str:
    return folder.relative_to(PACKAGE).parts[0]
