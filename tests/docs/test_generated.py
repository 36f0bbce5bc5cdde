"""The generated pages are what the code and the tests say now."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.generate_docs import (
    CHECKLISTS,
    NOT_IN_USE,
    OTHERWISE,
    ROOT,
    UNCITABLE,
    checklist,
    citations,
    cited,
    citing_tests,
    definitions,
    numbers,
    pages,
    reasons,
)

EACH_CHECKLIST = pytest.mark.parametrize("name", CHECKLISTS)

# Sections of [MS-MQMQ] 2.1 and 2.2 that define something, without pure headings.
STRUCTURES = [
    "2.1.1",
    "2.1.2",
    "2.1.3",
    "2.1.4",
    "2.1.5",
    "2.1.6",
    "2.1.7",
    "2.2.1",
    "2.2.2",
    "2.2.3",
    "2.2.4",
    "2.2.5.1",
    "2.2.6",
    "2.2.7",
    "2.2.11",
    "2.2.12",
    "2.2.13",
    "2.2.14",
    "2.2.18.1.2",
    "2.2.18.1.4",
    "2.2.18.1.5",
    "2.2.18.1.6",
    "2.2.18.1.8",
    "2.2.19.1",
    "2.2.19.2",
    "2.2.19.3",
    "2.2.20",
    "2.2.20.1",
    "2.2.20.2",
    "2.2.20.3",
    "2.2.20.4",
    "2.2.20.5",
    "2.2.20.6",
    "2.2.20.7",
    "2.2.20.8",
    "2.2.21",
    "2.2.22",
    "2.2.23",
    "2.2.24",
    "2.2.25",
    "2.2.26",
    "2.2.27",
    "2.3.1",
    "2.3.2",
    "2.3.3",
    "2.3.4",
    "2.3.5",
    "2.3.6",
    "2.3.7",
    "2.3.8",
    "2.3.9",
    "2.3.10",
    "2.3.11",
    "2.3.12",
    "2.3.13",
    "2.4",
]


def test_every_page_is_current() -> None:
    stale = [page for page, text in pages().items() if page.read_text() != text]
    assert [str(page.relative_to(ROOT)) for page in stale] == [], "run `make docs`"


def test_every_structure_of_the_data_specification_has_code() -> None:
    found = {found for definition in definitions() for found in definition.sections}
    assert [section for section in STRUCTURES if f"MS-MQMQ {section}" not in found] == []


def test_citations_are_found_in_all_their_forms() -> None:
    text = "One ([MS-MQMQ] 2.2.19.1), two ([MS-MQQB] 2.4.1, 2.4.2) and [MC-MQSRM] 4."
    assert cited(text) == ("MS-MQMQ 2.2.19.1", "MS-MQQB 2.4.1", "MS-MQQB 2.4.2", "MC-MQSRM 4")


def test_a_range_of_numbers_cites_each_of_them() -> None:
    assert {"MQQB-163", "MQQB-170"} <= citations().keys()


def test_numbers_are_found_one_by_one_and_in_ranges() -> None:
    assert numbers("XXXX-001, XXXX-003 to XXXX-005; no X-7") == [
        "XXXX-001",
        "XXXX-003",
        "XXXX-004",
        "XXXX-005",
    ]


@EACH_CHECKLIST
def test_every_number_has_a_test_or_a_reason(name: str) -> None:
    explained = citations().keys() | reasons(name).keys()
    missing = [number for number, *_ in checklist(name) if number not in explained]
    assert missing == [], f"cite them in a test, or say why not in not-yet-{name}.md"


@EACH_CHECKLIST
def test_what_a_test_cites_is_there(name: str) -> None:
    missing = {n for n, reason in reasons(name).items() if reason.state in UNCITABLE}
    both = sorted(missing & citations().keys())
    assert both == [], f"a test cites them now: strike them from not-yet-{name}.md"


@EACH_CHECKLIST
def test_states_are_known(name: str) -> None:
    known = {OTHERWISE, NOT_IN_USE, *UNCITABLE}
    states = {reason.state for reason in reasons(name).values()}
    assert {state for state in states - known if not state.startswith("as ")} == set()


@EACH_CHECKLIST
def test_what_is_not_in_use_has_a_test(name: str) -> None:
    unused = {n for n, reason in reasons(name).items() if reason.state == NOT_IN_USE}
    assert sorted(unused - citations().keys()) == []


@pytest.mark.parametrize(
    "name", sorted(CHECKLISTS.keys() - {"directory", "mqbr", "srmp", "system"})
)
def test_what_was_decided_otherwise_has_a_test_of_what_is_done_instead(name: str) -> None:
    """The lists that are left out have some without one."""
    decided = {n for n, reason in reasons(name).items() if reason.state == OTHERWISE}
    assert sorted(decided - citations().keys()) == []


@EACH_CHECKLIST
def test_what_is_done_under_another_number_is_done_there(name: str) -> None:
    done = {n for other in CHECKLISTS for n in citations().keys() - reasons(other).keys()}
    elsewhere = {
        r.state.removeprefix("as ") for r in reasons(name).values() if r.state[:3] == "as "
    }
    assert sorted(elsewhere - done) == []


def test_only_tests_cite_numbers() -> None:
    """Not the docstring of a module, or a comment: a number means that the test asserts it."""
    tests = {(module, number) for module, _, given in citing_tests() for number in given}
    assert (Path("tests/docs/test_generated.py"), "XXXX-001") not in tests
    assert (Path("tests/unit/packet/headers/test_base.py"), "MQQB-013") in tests


@EACH_CHECKLIST
def test_reasons_are_given_for_numbers_of_the_checklist(name: str) -> None:
    known = {number for number, *_ in checklist(name)}
    assert reasons(name).keys() <= known


def test_every_rule_of_the_data_model_that_has_a_test_has_code() -> None:
    page = next(text for path, text in pages().items() if path.name == "dmpr.md")
    rows = [line.split(" | ") for line in page.splitlines() if "](../../tests/" in line]
    assert rows
    assert [row[0] for row in rows if not row[-2].strip()] == []
