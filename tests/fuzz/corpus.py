"""The inputs worth keeping: one text file a target, one input a line, in hexadecimal."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def load(target: str) -> list[bytes]:
    """The inputs kept for a target."""
    path = FOLDER / f"{target}.hex"
    return [bytes.fromhex(line) for line in path.read_text().split()] if path.is_file() else []


def save(target: str, inputs: list[bytes]) -> None:
    """Keep `inputs`, the shortest first."""
    FOLDER.mkdir(exist_ok=True)
    lines = sorted({data.hex() for data in inputs if data}, key=lambda line: (len(line), line))
    (FOLDER / f"{target}.hex").write_text("".join(f"{line}\n" for line in lines))


def unpack(inputs: list[bytes], folder: Path) -> None:
    """Write each input to a file of its own, as the fuzzer wants them."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha256(data).hexdigest()).write_bytes(data)
