"""Whatever a sender puts into a body, the .NET decoders answer with plain values or `Malformed`."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.unit.bodies.test_nrbf import CALL, ORDER, RETURN, stream
from tests.unit.bodies.test_wcf import NUMBERED, SUBMIT, TABLE, preamble, sized

from openmsmq.bodies.body import Tree
from openmsmq.bodies.nrbf import read_nrbf
from openmsmq.bodies.wcf import read_wcf
from openmsmq.errors import Malformed
from openmsmq.limits import EXPANSION_FREE, EXPANSION_MAX, NBF_DEPTH_MAX

SESSION = preamble(mode=3, encoding=b"\x03\x08") + sized(TABLE + NUMBERED) + b"\x07"


def mutations(*samples: bytes) -> st.SearchStrategy[bytes]:
    """Samples with bytes replaced, inserted and cut out."""
    edits = st.tuples(st.integers(0, 2000), st.integers(0, 8), st.binary(max_size=8))
    return st.builds(_mutate, st.sampled_from(samples), st.lists(edits, min_size=1, max_size=4))


def _mutate(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, cut, put in edits:
        start = place % (len(data) + 1)
        data = data[:start] + put + data[start + cut :]
    return data


def check_plain(tree: Tree, *, size: int) -> None:
    """Plain values, text that any encoding can write, and no more than the data allows."""
    written = 0
    todo: list[tuple[Tree, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        assert depth <= 2 * NBF_DEPTH_MAX + 4
        if isinstance(node, dict):
            todo.extend((child, depth + 1) for child in node.values())
            written += sum(map(len, node))
        elif isinstance(node, list):
            todo.extend((child, depth + 1) for child in node)
        elif isinstance(node, str):
            written += len(node.encode("utf-8")) // 4
        else:
            assert node is None or type(node) in (bool, int, float, bytes)
    assert written <= EXPANSION_FREE + 2 * EXPANSION_MAX * size


@given(
    st.binary(max_size=300) | st.binary(max_size=300).map(stream) | mutations(ORDER, CALL, RETURN)
)
def test_any_stream_of_objects_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        check_plain(read_nrbf(data), size=len(data))


@given(st.integers(0, len(ORDER) - 1))
def test_a_stream_cut_short_is_refused(size: int) -> None:
    refused = False
    try:
        read_nrbf(ORDER[:size])
    except Malformed:
        refused = True
    assert refused


@given(
    st.binary(max_size=300)
    | st.binary(max_size=300).map(lambda tail: preamble() + tail)
    | mutations(preamble() + SUBMIT, SESSION)
)
def test_any_message_of_a_service_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        tree, text = read_wcf(data)
        check_plain(tree, size=len(data))
        text.encode("utf-8")


@given(mutations(SUBMIT))
def test_the_text_of_an_envelope_is_well_formed(envelope: bytes) -> None:
    try:
        _, text = read_wcf(preamble() + envelope)
    except Malformed:
        return
    parser = etree.XMLParser(recover=True)
    etree.fromstring(text.encode(), parser)
    # Prefixes no one declares are the sender's: namespaces are not looked at.
    assert [entry for entry in parser.error_log if entry.domain_name != "NAMESPACE"] == []
