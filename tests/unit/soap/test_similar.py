"""Envelopes that differ from one that was read before in their label and identifier only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.soap import MANAGER, PATH, envelope, msmq

from openmsmq.errors import Malformed
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.soap import similar
from openmsmq.soap.envelope import Envelope
from openmsmq.soap.kept import keep
from openmsmq.soap.limits import SIMILAR_MAX
from openmsmq.soap.reader import read_entries
from openmsmq.soap.similar import read_similar
from openmsmq.soap.tree import parsed_element

LABEL, ID = "MSMQ:order 1", f"uuid:7@{MANAGER}"


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    similar._KNOWN.clear()
    yield
    similar._KNOWN.clear()


def text(label: str = LABEL, identifier: str = ID, more: str = "") -> str:
    path = PATH.replace(LABEL, label).replace(ID, identifier)
    return envelope(msmq() + more, path=path).decode()


def whole(written: str) -> tuple[Envelope, SoapHeader]:
    root = parsed_element(written)
    return read_entries(root, written), keep(root, written)


@pytest.mark.parametrize(
    ("label", "identifier"),
    [
        ("MSMQ:order 2", ID),
        (LABEL, f"uuid:80000@{MANAGER}"),
        ("MSMQ:", f"uuid:4294967295@{MANAGER}"),
        (" MSMQ: order ", f"\n{ID} "),
        ("order", ID),
        ("MSMQ:\N{SNOWMAN} > 7", ID),
        ("MSMQ:a &amp; b", ID),
        ("MSMQ:a <!-- b -->", ID),
        ("MSMQ:<![CDATA[a]]>", ID),
    ],
)
def test_an_envelope_is_read_as_if_it_were_the_first(label: str, identifier: str) -> None:
    read_similar(text())
    assert len(similar._KNOWN) == 1
    written = text(label, identifier)
    assert read_similar(written) == whole(written)


@pytest.mark.parametrize(
    ("label", "identifier"),
    [
        (LABEL, "uuid:x"),
        (LABEL, ""),
        (f"MSMQ:{'x' * 250}", ID),
        ("MSMQ:\x01", ID),
        (LABEL, f"<b/>{ID}"),
        ("<b>MSMQ:</b>", ID),
        (LABEL, f"{ID}</id><id>{ID}"),
    ],
)
def test_what_is_malformed_is_refused_whatever_came_before(label: str, identifier: str) -> None:
    read_similar(text())
    with pytest.raises(Malformed):
        read_similar(text(label, identifier))


def test_only_what_is_known_to_vary_may_vary() -> None:
    read_similar(text())
    other = text().replace("<Priority>3<", "<Priority>5<")
    assert read_similar(other) == whole(other)
    assert len(similar._KNOWN) == 2


@pytest.mark.parametrize(
    "odd",
    [
        text(more='<x xmlns="urn:x"><action>MSMQ:no</action><id>1</id></x>').replace(
            "<action>MSMQ:order 1</action>", "<action >MSMQ:order 1</action>"
        ),
        text().replace(f"<id>{ID}</id>", f"<id >{ID}</id>"),
        text(more='<x xmlns="urn:x"><id>1</id></x>').replace(f"<id>{ID}</id>", f"<id >{ID}</id>"),
    ],
)
def test_label_and_identifier_are_looked_for_in_the_path_only(odd: str) -> None:
    assert read_similar(odd) == whole(odd)
    assert read_similar(odd) == whole(odd)
    assert not similar._KNOWN


def test_what_is_known_is_bounded() -> None:
    for number in range(SIMILAR_MAX + 10):
        read_similar(text(more=f'<x xmlns="urn:x{number}"/>'))
    assert len(similar._KNOWN) == SIMILAR_MAX
    large = text(more=f'<x xmlns="urn:x">{"y" * 8192}</x>')
    read_similar(large)
    assert len(similar._KNOWN) == SIMILAR_MAX
