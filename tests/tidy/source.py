"""What the house rules are checked on: the source files as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "openmsmq"


@dataclass(frozen=True, slots=True)
class Source:
    """One module of the package."""

    name: str
    "Dotted, below the package: `packet.user`; empty for the package itself."
    text: str
    is_package: bool = False
    "It is the `__init__.py` of a folder."

    @property
    def folder(self) -> str:
        """The dotted name of the folder it lies in; empty for the package itself."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def part(self) -> str:
        """The folder or top-level module it belongs to."""
        return self.name.partition(".")[0]

    @property
    def tree(self) -> ast.Module:
        return _parse(self.text)

    def modules(self) -> Iterator[str]:
        """The dotted names of the modules it imports, or imports something from."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""

    def imports(self) -> Iterator[str]:
        """The dotted names of the modules it imports, wherever the import stands."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{self.name}: imports are absolute"
                module = node.module or ""
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def sources() -> tuple[Source, ...]:
    """Every module of the package."""
    found = []
    for path in sorted((ROOT / "src" / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / "src" / PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found.append(Source(name, path.read_text(), path.stem == "__init__"))
    return tuple(found)
