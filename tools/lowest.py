"""The lowest allowed version of every dependency, as requirements: `make lowest`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def lowest(document: str) -> list[str]:
    """The requirements of a pyproject.toml, each pinned to its lower bound."""
    found = tomllib.loads(document)["project"]["dependencies"]
    pinned = []
    for requirement in found:
        needed, semicolon, marker = requirement.partition(";")
        assert needed.count(">=") == 1, f"{requirement}: one lower bound is expected"
        pinned.append(needed.replace(">=", "==").strip() + semicolon + marker)
    return pinned


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest(Path("pyproject.toml").read_text())) + "\n")
