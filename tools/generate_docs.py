"""Writes the pages that are derived from code and tests: `python -m tools.generate_docs`.

    docs/protocol/mqmq.md   every structure: section, module, test
    docs/protocol/mqqb.md   every number of a checklist: code and test; likewise dmpr.md

A test compares the pages with what this would write, so that neither can drift.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "docs" / "protocol"
CITATION = re.compile(r"\[(M[SC]-[A-Z]+)\] (\d[\d.]*\d|\d)((?:,? (?:and )?\d[\d.]*\d)*)")
CHECK = re.compile(r"- ([A-Z]+-\d{3}) \[([A-Z ]+)\] \(([^)]*)\) (.*)")
CHECKLISTS = {"mqqb": "The binary protocol", "dmpr": "The data model and its rules"}
SPECS = {"Q": "MS-MQQB", "M": "MS-MQMQ", "R": "MS-MQRR", "D": "MS-MQDMPR"}
NUMBER = re.compile(r"([A-Z]{4})-(\d{3})(?:(?: to |\.\.| - )(?:[A-Z]{4}-)?(\d{3}))?")


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function and the sections its docstring cites."""

    name: str
    module: Path
    sections: tuple[str, ...]
    "`MS-MQMQ 2.2.19.1`, in the order they are cited."
    is_class: bool


def pages() -> dict[Path, str]:
    """The generated pages and their text."""
    maps = {PROTOCOL / f"{name}.md": checklist_page(name) for name in CHECKLISTS}
    return {PROTOCOL / "mqmq.md": structures_page(), **maps}


@cache
def definitions() -> tuple[Definition, ...]:
    """Everything in the package whose docstring cites a section."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                sections = cited(ast.get_docstring(node) or "")
                if sections:
                    module = path.relative_to(ROOT)
                    is_class = isinstance(node, ast.ClassDef)
                    found.append(Definition(node.name, module, sections, is_class))
    return tuple(found)


def cited(text: str) -> tuple[str, ...]:
    """The sections a text cites: `[MS-MQMQ] 2.2.1, 2.2.2` cites two."""
    sections = []
    for spec, first, more in CITATION.findall(" ".join(text.split())):
        for number in (first, *re.findall(r"\d[\d.]*\d", more)):
            sections.append(f"{spec} {number}")
    return tuple(sections)


def structures_page() -> str:
    """The table of structures, by section."""
    rows = sorted(
        (d for d in definitions() if d.is_class and not d.name.startswith("_")),
        key=lambda d: (_section_key(d.sections[0]), d.name),
    )
    lines = [
        "# Structures",
        "",
        "Every structure, code and name of the specifications that the code has so far, with the",
        "module that defines it and the test module beside its property and vector tests. Written",
        "by `make docs` from the docstrings. [The map](mqqb.md) goes on from structures to rules.",
        "",
        "| Section | Structure | Module | Test |",
        "|---|---|---|---|",
    ]
    for definition in rows:
        module, test = definition.module, _test_of(definition.module).relative_to(ROOT)
        lines.append(
            f"| [{definition.sections[0].replace(' ', '] ', 1)} | `{definition.name}` |"
            f" [{_short(module)}](../../{module}) | [{test.name}](../../{test}) |"
        )
    return "\n".join(lines) + "\n"


def checklist_page(name: str) -> str:
    """The map from the numbers of a checklist to code and tests."""
    tests = citations()
    modules = _modules_by_section()
    checks = CHECK.findall((PROTOCOL / f"checklist-{name}.md").read_text())
    done = sum(1 for number, *_ in checks if number in tests)
    lines = [
        f"# {CHECKLISTS[name]}: what is done",
        "",
        f"Of {len(checks)} statements of the [checklist](checklist-{name}.md), {done} have code and"
        " a test that cites them.",
        "The others are not done yet. Written by `make docs`: the code column lists modules that",
        "cite the statement's section, the test column the test modules that cite its number.",
        "",
        "| Number | Level | Statement | Code | Test |",
        "|---|---|---|---|---|",
    ]
    for number, level, sections, text in checks:
        if number in tests:
            code = sorted({m for s in _sections(sections) for m in modules.get(s, ())})
            code_column = ", ".join(_short(module) for module in code)
            test_column = ", ".join(f"[{t.name}](../../{t})" for t in sorted(tests[number]))
        else:
            code_column, test_column = "", "not yet"
        statement = text.replace("|", "\\|")
        lines.append(f"| {number} | {level} | {statement} | {code_column} | {test_column} |")
    return "\n".join(lines) + "\n"


def citations() -> dict[str, set[Path]]:
    """The test modules that cite each checklist number; `MQQB-012 to MQQB-025` cites a range."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for checklist, first, last in NUMBER.findall(path.read_text()):
            for number in range(int(first), int(last or first) + 1):
                found[f"{checklist}-{number:03d}"].add(path.relative_to(ROOT))
    return found


def _modules_by_section() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = defaultdict(set)
    for definition in definitions():
        for section in definition.sections:
            found[section].add(definition.module)
    return found


def _sections(text: str) -> list[str]:
    """`M 2.2.19.1, Q 3.1.5` as the names of the specifications."""
    return [
        f"{SPECS[tag]} {section}"
        for tag, section in re.findall(r"\b([QMRD]) (\d[\d.]*\d|\d)", text)
    ]


def _section_key(section: str) -> tuple[str, tuple[int, ...]]:
    spec, number = section.split(" ")
    return spec, tuple(int(part) for part in number.split("."))


def _test_of(module: Path) -> Path:
    inside = module.relative_to("src/openmsmq")
    return ROOT / "tests" / "unit" / inside.with_name(f"test_{inside.name}")


def _short(module: Path) -> str:
    return str(module.relative_to("src/openmsmq"))


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
