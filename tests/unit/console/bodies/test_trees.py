"""Bodies as trees."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.console.bodies.test_columns import ORDER, WCF

from openmsmq.bodies.decode import NRBF_BODY_TYPE, decode_body
from openmsmq.console.bodies.trees import TreeNode, tree_of
from openmsmq.console.limits import TREE_DEPTH_MAX, TREE_NODES_MAX, TREE_TEXT_MAX


def tree(body: bytes, body_type: int = 0) -> TreeNode:
    found = tree_of(decode_body(body, body_type))
    assert found is not None
    return found


def paths(node: TreeNode) -> dict[str, str]:
    """Texts by paths."""
    found = {node.path: node.text}
    for child in node.children:
        found.update(paths(child))
    return found


def names(node: TreeNode) -> list[str]:
    return [node.name, *(name for child in node.children for name in names(child))]


def test_json_has_paths_that_filters_know() -> None:
    root = tree(b'{"a": [1, {"b c": null}], "it\'s": true, "d": "x"}')
    assert paths(root) == {
        "json:$": "",
        "json:$.a": "",
        "json:$.a[0]": "1",
        "json:$.a[1]": "",
        "json:$.a[1]['b c']": "",
        "": "true",
        "json:$.d": "x",
    }
    assert [child.kind for child in root.children] == ["array", "truth", "text"]


def test_xml_has_elements_and_attributes() -> None:
    root = tree(b'<o:order xmlns:o="x" no="7"><line>a</line>t<line q="2">b</line><n/></o:order>')
    assert (root.name, root.kind, root.text) == ("order", "element", "t")
    assert paths(root)["xpath:/order/@no"] == "7"
    assert paths(root)["xpath:/order/line[1]"] == "a"
    assert paths(root)["xpath:/order/line[2]/@q"] == "2"


def test_objects_of_dotnet_and_envelopes_of_wcf() -> None:
    order = tree(ORDER, NRBF_BODY_TYPE)
    assert (order.type, order.children[-1].text) == ("Shop.Order", "ACME")
    assert paths(order)["json:$.number"] == "4711"
    wcf = tree(WCF)
    assert names(wcf)[:5] == ["WCF", "version", "mode", "via", "encoding"]
    assert paths(wcf)["xpath:/Envelope/Body/Submit/count"] == "5"


def test_a_document_in_a_string_is_a_tree() -> None:
    """Most programs write XML and JSON as strings."""
    for text, name in (('<order no="7"/>', "order"), ('{"no": 7}', "$")):
        assert tree(text.encode("utf-16-le"), 31).name == name
    assert tree_of(decode_body("7".encode("utf-16-le"), 31)) is None


def test_single_values_are_no_trees() -> None:
    for body in (b"", b"hello", b"\xff\x00\x01", b"<a><b>broken", b"{broken"):
        assert tree_of(decode_body(body, 0)) is None


def test_trees_are_bounded() -> None:
    wide = tree(json.dumps(list(range(TREE_NODES_MAX + 50))).encode())
    assert (len(names(wide)), wide.more) == (TREE_NODES_MAX, True)
    deep: Any = 1
    for _ in range(TREE_DEPTH_MAX + 5):
        deep = [deep]
    node = tree(json.dumps(deep).encode())
    for _ in range(TREE_DEPTH_MAX):
        (node,) = node.children
    assert (node.children, node.more) == ([], True)
    long = tree(json.dumps({"a": "x" * (TREE_TEXT_MAX + 1)}).encode()).children[0]
    assert (len(long.text), long.more) == (TREE_TEXT_MAX, True)
