"""Writes the pages that are derived from code and tests: `python -m tools.generate_docs`.

    docs/architecture.md    folders, layers and walks, with their pictures
                            (see generate_architecture.py)
    docs/cli.md             the reference of the command line (see generate_cli.py)
    docs/configuration.md   what a service can be told (see generate_config.py)
    docs/limits.md          every bound (see generate_limits.py)
    docs/rest.md            the REST API (see generate_rest.py)
    docs/protocol/mqmq.md   every structure: section, module, test
    docs/protocol/mqqb.md   every number of a checklist: code and test, or why there is none;
                            likewise dmpr.md, mqrr.md, srmp.md, system.md, security.md, mqbr.md,
                            directory.md

and the JSON schemas of TOML files, in src/openmsmq/assets (see generate_schemas.py).


A test compares the pages with what this would write, so that neither can drift.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools import (
    generate_architecture,
    generate_cli,
    generate_config,
    generate_limits,
    generate_rest,
    generate_schemas,
)

ROOT = Path(__file__).parents[1]
PROTOCOL = ROOT / "docs" / "protocol"
CITATION = re.compile(r"\[(M[SC]-[A-Z]+)\] (\d[\d.]*\d|\d)((?:,? (?:and )?\d[\d.]*\d)*)")
CHECK = re.compile(r"- ([A-Z]+-\d{3}) \[([A-Z ]+)\] \(([^)]*)\) (.*)")
CHECKLISTS = {
    "mqqb": "The binary protocol",
    "dmpr": "The data model and its rules",
    "mqrr": "Remote read",
    "mqmr": "Management",
    "mqqp": "Older remote read",
    "mqmp": "The supporting server",
    "srmp": "Messages over HTTP",
    "pgm": "Multicast",
    "system": "The whole system",
    "security": "Message security",
    "mqbr": "Routing",
    "directory": "The directory",
}
SPECS = {"Q": "MS-MQQB", "M": "MS-MQMQ", "R": "MS-MQRR", "D": "MS-MQDMPR", "S": "MC-MQSRM"} | {
    "SO": "MS-MQSO",
    "BR": "MS-MQBR",
    "MR": "MS-MQMR",
    "QP": "MS-MQQP",
    "MP": "MS-MQMP",
    "CN": "MS-MQCN",
    "MS-RPCE": "MS-RPCE",
    "MS-NLMP": "MS-NLMP",
    "AC": "MC-MQAC",
    "RR": "MS-MQRR",
    "DS": "MS-MQDS",
    "SSM": "MS-MQDSSM",
    "DTYP": "MS-DTYP",
}
SECTION = re.compile(rf"\b({'|'.join(SPECS)}) (\d[\d.]*\d|\d)")
REASON = re.compile(r"^\| ([A-Z]{3,4}-\d{3}[^|]*) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
NUMBER = re.compile(r"\b([A-Z]{3,4})-(\d{3})\b(?:(?: to |\.\.| - )(?:[A-Z]{3,4}-)?(\d{3}))?")
OTHERWISE = "otherwise"
"A decision against the text of a statement; tests may assert what was decided."
NOT_IN_USE = "not in use"
"There is code, and a test of it, but no part of the product calls it."
UNCITABLE = ("not yet", "does not apply")
"States of what there is nothing to test about."


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function and the sections its docstring cites."""

    name: str
    module: Path
    sections: tuple[str, ...]
    "`MS-MQMQ 2.2.19.1`, in the order they are cited."
    is_class: bool


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a statement is not simply done."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{self.state}: {self.text}"


@cache
def pages() -> dict[Path, str]:
    """The generated pages and their text."""
    maps = {PROTOCOL / f"{name}.md": checklist_page(name) for name in CHECKLISTS}
    reference = {
        ROOT / "docs" / "architecture.md": generate_architecture.page(),
        **generate_architecture.pictures(),
        ROOT / "docs" / "cli.md": generate_cli.page(),
        ROOT / "docs" / "configuration.md": generate_config.page(),
        ROOT / "docs" / "limits.md": generate_limits.page(),
        ROOT / "docs" / "rest.md": generate_rest.page(),
    }
    schemas = generate_schemas.schemas()
    return {PROTOCOL / "mqmq.md": structures_page(), **maps, **reference, **schemas}


@cache
def definitions() -> tuple[Definition, ...]:
    """Everything in the package whose docstring cites a section."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in _statements(path, CITATION):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                sections = cited(ast.get_docstring(node) or "")
                if sections:
                    module = path.relative_to(ROOT)
                    is_class = isinstance(node, ast.ClassDef)
                    found.append(Definition(node.name, module, sections, is_class))
    return tuple(found)


def _statements(path: Path, needed: re.Pattern[str]) -> Iterator[ast.AST]:
    """All statements of a module; none if it has nothing that is looked for."""
    text = path.read_text()
    if not needed.search(" ".join(text.split())):
        return
    found: deque[ast.AST] = deque([ast.parse(text)])
    while found:
        node = found.popleft()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, part, None)
            found.extend(inside if isinstance(inside, list) else ())


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
    open_ones = reasons(name)
    modules = _modules_by_section()
    checks = checklist(name)
    states = [open_ones[number].state for number, *_ in checks if number in open_ones]
    unused, decided = states.count(NOT_IN_USE), states.count(OTHERWISE)
    elsewhere = sum(state.startswith("as ") for state in states)
    missing = len(states) - unused - decided - elsewhere
    done = len(checks) - len(states)
    lines = [
        f"# {CHECKLISTS[name]}: what is done",
        "",
        f"Of {len(checks)} statements of the [checklist](checklist-{name}.md), {done} are done: a",
        f"test asserts each of them. {elsewhere} are done under the number of another statement,",
        f"{decided} were decided otherwise, {unused} have code and tests that no part of the",
        f"product uses yet, and {missing} are not done or do not apply; all of these",
        f"[say why](not-yet-{name}.md). Written by `make docs`: the code column lists modules that",
        "cite the statement's section, else those that the tests are about; the test column lists",
        "the modules of the tests whose docstrings cite the number.",
        "",
        "| Number | Level | Statement | Code | Test |",
        "|---|---|---|---|---|",
    ]
    for number, level, sections, text in checks:
        if number in tests:
            code = {m for s in sections_of(sections) for m in modules.get(s, ())}
            code_column = ", ".join(map(_short, sorted(code or _tested_by(tests[number]))))
            test_column = ", ".join(f"[{t.name}](../../{t})" for t in sorted(tests[number]))
            if number in open_ones:
                test_column = f"{open_ones[number]}; {test_column}"
        else:
            code_column, test_column = "", str(open_ones.get(number, "not yet"))
        statement = text.replace("|", "\\|")
        lines.append(f"| {number} | {level} | {statement} | {code_column} | {test_column} |")
    return "\n".join(lines) + "\n"


def citations() -> dict[str, set[Path]]:
    """The test modules that cite each checklist number, in the docstring of a test."""
    found: dict[str, set[Path]] = defaultdict(set)
    for module, _, given in citing_tests():
        for number in given:
            found[number].add(module)
    return found


@cache
def citing_tests() -> tuple[tuple[Path, str, frozenset[str]], ...]:
    """Module, name and numbers of every test; `MQQB-012 to MQQB-025` cites a range."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in _statements(path, NUMBER):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            given = frozenset(numbers(ast.get_docstring(node) or ""))
            if node.name.startswith("test_") and given:
                found.append((path.relative_to(ROOT), node.name, given))
    return tuple(found)


def reasons(name: str) -> dict[str, Reason]:
    """Why numbers of a checklist are not simply done: `not yet: the directory is not built`."""
    found: dict[str, Reason] = {}
    text = (PROTOCOL / f"not-yet-{name}.md").read_text()
    for first_column, state, reason in REASON.findall(text):
        for number in numbers(first_column):
            assert number not in found, f"{number} has two reasons"
            found[number] = Reason(state, reason)
    return found


def checklist(name: str) -> list[tuple[str, str, str, str]]:
    """Number, level, sections and text of every statement."""
    return CHECK.findall((PROTOCOL / f"checklist-{name}.md").read_text())


def numbers(text: str) -> list[str]:
    """The checklist numbers in a text; `MQQB-012 to MQQB-025` is a range."""
    return [
        f"{spec}-{number:03d}"
        for spec, first, last in NUMBER.findall(text)
        for number in range(int(first), int(last or first) + 1)
    ]


def _modules_by_section() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = defaultdict(set)
    for definition in definitions():
        for section in definition.sections:
            found[section].add(definition.module)
    return found


def sections_of(text: str) -> list[str]:
    """`M 2.2.19.1, Q 3.1.5` as the names of the specifications."""
    return [f"{SPECS[tag]} {section}" for tag, section in SECTION.findall(text)]


def _section_key(section: str) -> tuple[str, tuple[int, ...]]:
    spec, number = section.split(" ")
    return spec, tuple(int(part) for part in number.split("."))


def _test_of(module: Path) -> Path:
    inside = module.relative_to("src/openmsmq")
    return ROOT / "tests" / "unit" / inside.with_name(f"test_{inside.name}")


def _tested_by(tests: set[Path]) -> set[Path]:
    """The modules that unit tests are about, by the names of both."""
    unit = (path for path in tests if path.parts[1] == "unit")
    inside = (path.relative_to("tests/unit") for path in unit)
    return {Path("src/openmsmq") / path.with_name(path.name[5:]) for path in inside}


def _short(module: Path) -> str:
    return str(module.relative_to("src/openmsmq"))


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
