"""The generated pages are what the code and the tests say now."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.generate_docs import ROOT, citations, cited, definitions, pages

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


@pytest.mark.parametrize(
    ("page", "text"), pages().items(), ids=lambda item: getattr(item, "name", "")
)
def test_the_page_is_current(page: Path, text: str) -> None:
    assert page.read_text() == text, f"run `make docs`: {page.relative_to(ROOT)} is stale"


@pytest.mark.parametrize("section", STRUCTURES)
def test_every_structure_of_the_data_specification_has_code(section: str) -> None:
    sections = {found for definition in definitions() for found in definition.sections}
    assert any(found == f"MS-MQMQ {section}" for found in sections)


def test_citations_are_found_in_all_their_forms() -> None:
    text = "One ([MS-MQMQ] 2.2.19.1), two ([MS-MQQB] 2.4.1, 2.4.2) and [MC-MQSRM] 4."
    assert cited(text) == ("MS-MQMQ 2.2.19.1", "MS-MQQB 2.4.1", "MS-MQQB 2.4.2", "MC-MQSRM 4")


def test_a_range_of_numbers_cites_each_of_them() -> None:
    assert {"MQQB-163", "MQQB-170"} <= citations().keys()
