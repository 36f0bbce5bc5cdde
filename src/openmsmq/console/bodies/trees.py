"""Bodies as trees of names and values: XML, JSON, objects of .NET (NRBF), envelopes of WCF.

A node has the path by which filters and columns find it, as far as there is one. Nothing that a
sender names is ever made into an object, and how much is shown is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from openmsmq.bodies.body import Body
from openmsmq.bodies.decode import decode_body
from openmsmq.bodies.text import encodable
from openmsmq.bodies.xmltree import read_tree
from openmsmq.console.limits import TREE_DEPTH_MAX, TREE_NODES_MAX, TREE_TEXT_MAX
from openmsmq.errors import Malformed

_MEMBER: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_ELEMENT: Final = re.compile(r"[^\W\d][\w.-]*")
_TYPE: Final = "$type"
_ENVELOPES: Final = ("envelope", "envelopes")


class TreeNode(Struct, omit_defaults=True):
    """A node of a body: an element, an attribute, a member, or an item."""

    name: str
    kind: str = ""
    "element, attribute, object, array, text, number, truth, bytes or nothing."
    text: str = ""
    path: str = ""
    "What a column or a filter calls it; empty if it cannot be named."
    type: str = ""
    "The class of an object of .NET."
    children: list[TreeNode] = []
    more: bool = False
    "There is more in it than is shown."


def tree_of(body: Body) -> TreeNode | None:
    """A body as a tree; None if it is a single value, or just bytes."""
    grower = _Grower()
    if body.format == "xml" and body.text is not None:
        return _document(grower, body.text)
    if body.format == "nmf" and isinstance(body.value, dict):
        return _envelope(grower, body.value, body.text or "")
    if isinstance(body.value, dict | list):
        return grower.value("$", body.value, "json:$", 0)
    if body.format.startswith("activex:") and isinstance(body.value, str):
        inside = decode_body(body.value.encode(errors="replace"), 0)
        return tree_of(inside) if inside.format in ("xml", "json") else None
    return None


def _document(grower: _Grower, text: str) -> TreeNode | None:
    try:
        ((name, value),) = read_tree(text).items()
    except (Malformed, ValueError):
        return None
    return grower.element(name, value, f"xpath:/{name}" if _ELEMENT.fullmatch(name) else "", 0)


def _envelope(grower: _Grower, value: Mapping[str, Any], text: str) -> TreeNode:
    """A message of WCF: how it was framed, and its envelope as the document that it stands for."""
    document = _document(grower, text) if text else None
    node = TreeNode("WCF", "object")
    node.children = [
        grower.value(name, inner, "", 1)
        for name, inner in value.items()
        if name not in _ENVELOPES or document is None
    ]
    if document is not None:
        node.children.append(document)
    return node


class _Grower:
    """Makes nodes until there are too many."""

    def __init__(self) -> None:
        self._left = TREE_NODES_MAX

    def _node(self, name: str, kind: str, path: str, text: str = "") -> TreeNode:
        self._left -= 1
        shown = encodable(text[:TREE_TEXT_MAX])
        return TreeNode(
            encodable(name[:TREE_TEXT_MAX]), kind, shown, path, more=len(text) > TREE_TEXT_MAX
        )

    def _fill(self, node: TreeNode, inner: Iterator[TreeNode], depth: int) -> TreeNode:
        """Give a node its children, as far as there is room; they are made one by one."""
        if depth >= TREE_DEPTH_MAX:
            node.more = True
            return node
        for child in inner:
            node.children.append(child)
            if self._left <= 0:
                node.more = True
                break
        return node

    def value(self, name: str, value: Any, path: str, depth: int) -> TreeNode:
        """A value of JSON or of .NET."""
        if isinstance(value, Mapping):
            node = self._node(name, "object", path)
            kind = value.get(_TYPE)
            if isinstance(kind, str):
                node.type = encodable(kind[:TREE_TEXT_MAX])
            members = (
                self.value(key, inner, _member(path, key), depth + 1)
                for key, inner in value.items()
                if key != _TYPE or not node.type
            )
            return self._fill(node, members, depth)
        if isinstance(value, list):
            items = (
                self.value(f"[{at}]", inner, path and f"{path}[{at}]", depth + 1)
                for at, inner in enumerate(value)
            )
            return self._fill(self._node(name, "array", path), items, depth)
        return self._node(name, *_leaf(value, path))

    def element(self, name: str, value: Any, path: str, depth: int) -> TreeNode:
        """An element of XML."""
        if isinstance(value, Mapping):
            text = value.get("#text")
            node = self._node(name, "element", path, text if isinstance(text, str) else "")
            return self._fill(node, self._inside(value, path, depth), depth)
        if value is None:
            return self._node(name, "nothing", path)
        return self._node(name, "element", path, str(value))

    def _inside(self, value: Mapping[str, Any], path: str, depth: int) -> Iterator[TreeNode]:
        for key, inner in value.items():
            if key == "#text":
                continue
            name = key.removeprefix("@")
            place = f"{path}/{key}" if path and _ELEMENT.fullmatch(name) else ""
            if key.startswith("@"):
                yield self._node(name, "attribute", place, str(inner))
            elif isinstance(inner, list):
                for at, one in enumerate(inner, 1):
                    yield self.element(key, one, place and f"{place}[{at}]", depth + 1)
            else:
                yield self.element(key, inner, place, depth + 1)


def _member(path: str, name: str) -> str:
    """The path of a member; empty if no path can name it."""
    if not path:
        return ""
    if _MEMBER.fullmatch(name):
        return f"{path}.{name}"
    return f"{path}['{name}']" if name and "'" not in name and name.isprintable() else ""


def _leaf(value: Any, path: str) -> tuple[str, str, str]:
    """What a single value is, its path, and its text."""
    if value is None:
        return "nothing", path, ""
    if isinstance(value, bool):
        return "truth", path, str(value).lower()
    if isinstance(value, int | float):
        return "number", path, str(value)
    if isinstance(value, bytes):
        return "bytes", path, value[:TREE_TEXT_MAX].hex()
    return "text", path, str(value)
