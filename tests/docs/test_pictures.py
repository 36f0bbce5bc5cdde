"""The drawings: each is shown somewhere, can be read by everybody, and brings nothing along."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tools.generate_docs import ROOT

from tests.docs.console import PAGES

PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
DRAWINGS = [path for path in PICTURES if path.suffix == ".svg"]
PHOTOS = [path for path in PICTURES if path.suffix != ".svg"]
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
SVG = "{http://www.w3.org/2000/svg}"
SIZE_MAX = 10_000
PHOTO_SIZE_MAX = 150_000
EACH = pytest.mark.parametrize("picture", DRAWINGS, ids=lambda path: path.name)


def test_every_picture_is_shown_and_every_shown_picture_is_there() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for _, target in IMAGE.findall(page.read_text())
    }
    assert shown == {path.resolve() for path in PICTURES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_have_a_text_alternative(page: Path) -> None:
    assert all(words for words, _ in IMAGE.findall(page.read_text()))


@pytest.mark.parametrize("photo", PHOTOS, ids=lambda path: path.name)
def test_what_is_no_drawing_is_a_small_picture_of_a_screen(photo: Path) -> None:
    assert photo.read_bytes().startswith(b"\x89PNG")
    assert photo.stat().st_size <= PHOTO_SIZE_MAX


@EACH
def test_a_picture_is_a_small_drawing(picture: Path) -> None:
    root = ElementTree.fromstring(picture.read_bytes())
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox")
    assert root.findtext(f"{SVG}title")
    assert picture.stat().st_size <= SIZE_MAX


@EACH
def test_a_picture_can_be_read_on_dark_and_on_light(picture: Path) -> None:
    root = ElementTree.fromstring(picture.read_bytes())
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    coloured = [e for e in root.iter() if {"fill", "stroke", "style"} & e.attrib.keys()]
    assert coloured == [], "colours belong to the style sheet, which knows both"


@EACH
def test_text_stays_inside_the_picture(picture: Path) -> None:
    root = ElementTree.fromstring(picture.read_bytes())
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width
        assert 0 < float(text.attrib["y"]) < height


@EACH
def test_a_picture_runs_nothing_and_loads_nothing(picture: Path) -> None:
    root = ElementTree.fromstring(picture.read_bytes())
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}image"}
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name or value.startswith("#")
