"""Writes docs/limits.md: every bound of the package, from the `limits.py` of its folders.

A bound is a constant with a docstring `UNIT of what (section). At the limit: what happens.`; the
first word is the unit that its value is shown with.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
MARK: Final = " At the limit: "
NO_BOUNDS: Final = ("U16_MAX", "U32_MAX", "U64_MAX", "KIB", "NO_QUOTA")
"Constants of the package's own limits.py that bound nothing."
_SIZES: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SPANS: Final = ((86_400, "days"), (3600, "hours"), (60, "minutes"))


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit: what it counts, and what happens when it is reached."""

    name: str
    value: object
    meaning: str
    consequence: str

    @property
    def unit(self) -> str:
        """The first word of its docstring, which is what it counts."""
        return self.meaning.split()[0].lower().strip(",;")

    @property
    def text(self) -> str:
        """The value with its unit: `4 MiB`, `10,000 messages`, `64 to 1,000 messages`."""
        if isinstance(self.value, tuple):
            least, most = self.value
            return f"{_number(least)} to {_with_unit(most, self.unit)}"
        return _with_unit(self.value, self.unit)


def page() -> str:
    """The text of docs/limits.md."""
    lines = [
        "# Limits",
        "",
        "Every table, buffer, wait and size that others can make the product fill has a bound.",
        "Those that a user can set are in [configuration.md](configuration.md); the quotas of",
        "queues and of the manager are in [concepts.md](concepts.md). Written by `make docs` from",
        "the `limits.py` of each folder; `tests/tidy/test_limits.py` keeps bounds out of other",
        "modules.",
    ]
    for module in modules():
        lines += ["", f"## `{module.relative_to(SOURCE)}`", "", _headline(module), ""]
        lines += ["| Name | Limit | What | At the limit |", "|---|---|---|---|"]
        lines += [
            f"| `{bound.name}` | {bound.text} | {bound.meaning} | {bound.consequence} |"
            for bound in bounds(module)
        ]
    return "\n".join(lines) + "\n"


def modules() -> list[Path]:
    """Every `limits.py`, that of the whole package first."""
    found = (SOURCE / "openmsmq").rglob("limits.py")
    return sorted(found, key=lambda path: (len(path.parts), path))


def bounds(module: Path) -> Iterator[Bound]:
    """The bounds of a module, in its order."""
    loaded = importlib.import_module(".".join(module.relative_to(SOURCE).with_suffix("").parts))
    for name, text in docstrings(ast.parse(module.read_text())):
        if name not in NO_BOUNDS:
            meaning, _, consequence = " ".join(text.split()).partition(MARK)
            capital = consequence[:1].upper() + consequence[1:]
            yield Bound(name, getattr(loaded, name), meaning, capital)


def docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The constants of a module and the docstrings that follow them; empty without one."""
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
            yield node.target.id, text


def _headline(module: Path) -> str:
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    return text.partition("\n")[0]


def _with_unit(value: object, unit: str) -> str:
    if unit == "bytes" and isinstance(value, int):
        for size, name in _SIZES:
            if value >= size and value % size == 0:
                return f"{value // size:,} {name}"
    if unit == "seconds" and isinstance(value, int | float):
        for seconds, name in _SPANS:
            if value >= 2 * seconds and value % seconds == 0:
                return f"{int(value // seconds)} {name}"
    return f"{_number(value)} {unit.removesuffix('s') if value == 1 else unit}"


def _number(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{int(value):,}" if value == int(value) else str(value)
