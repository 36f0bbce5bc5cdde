"""Conditions on XML in a body: a part of XPath whose work is bounded.

`//order[@no>100]`, `/order/customer/name=="ACME"`, `//line[2]/@price`: steps by local name or `*`,
attributes with `@`, from anywhere with `//`; in brackets a place, or a child or an attribute that
is there or compares; at the end a comparison, too. There are no functions. Each step looks at each
node of a document at most once. The envelopes of WCF are documents, too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from openmsmq.bodies.decode import decode_body, is_wcf
from openmsmq.bodies.xmltree import read_tree
from openmsmq.console.bodies.contents import ContentError, texts_of
from openmsmq.console.limits import PATH_STEPS_MAX
from openmsmq.errors import Malformed
from openmsmq.types.received import ReceivedMessage

_NAME: Final = r"[^\W\d][\w.-]*"
_STEP: Final = re.compile(rf"(//?)(@)?({_NAME}|\*)")
_PLACE: Final = re.compile(r"\[(\d{1,9})\]")
_HAVING: Final = re.compile(
    rf"\[(@?)({_NAME})(?:\s*(==|=|!=|>=|<=|>|<)\s*(\"[^\"]*\"|'[^']*'|[^\]\"']+))?\]"
)
_COMPARED: Final = re.compile(r"\s*(==|=|!=|>=|<=|>|<)\s*(.+)", re.DOTALL)
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_DIGITS: Final = 40
"Characters of a number that are looked at."
_TEXT: Final = "#text"

Node = tuple[Any, tuple[int, str, int]]
"A value of the tree, and where it is: its parent, its name, and its number among those."
Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Having:
    """What is asked of a node in brackets."""

    is_attribute: bool
    name: str
    test: Test | None


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path."""

    is_deep: bool
    is_attribute: bool
    name: str
    asked: tuple[int | Having, ...]


def matches_xpath(text: str) -> Callable[[ReceivedMessage], bool]:
    """Whether a body is XML with a node at a path, which compares as it is said."""
    steps, at = _path(text)
    compared = _COMPARED.fullmatch(text, at) if at < len(text) else None
    if at < len(text) and compared is None:
        raise ContentError(f"xpath: {text[at : at + 20]!r} is neither a step nor a comparison")
    test = None if compared is None else _test(compared[1], compared[2].strip())

    def found(message: ReceivedMessage) -> bool:
        nodes = _select(_document(message), steps)
        return any(test is None or test(_written(value)) for value, _ in nodes)

    return found


def values_at_xpath(text: str) -> Callable[[ReceivedMessage], Iterator[str]]:
    """What finds the texts of the nodes at a path."""
    steps, at = _path(text)
    if at < len(text):
        raise ContentError(f"xpath: {text[at : at + 20]!r} is not a step")
    return lambda message: (_written(value) for value, _ in _select(_document(message), steps))


def _path(text: str) -> tuple[list[PathStep], int]:
    """The steps of a path, and where they end."""
    steps, at = list[PathStep](), 0
    while (step := _STEP.match(text, at)) is not None:
        asked, at = _asked(text, step.end())
        steps.append(PathStep(step[1] == "//", bool(step[2]), step[3], asked))
    if not steps:
        raise ContentError("xpath: a path begins with / or //, such as //order[@no>100]")
    if len(steps) > PATH_STEPS_MAX:
        raise ContentError(f"xpath: at most {PATH_STEPS_MAX} steps")
    return steps, at


def _asked(text: str, at: int) -> tuple[tuple[int | Having, ...], int]:
    found: list[int | Having] = []
    while at < len(text) and text[at] == "[":
        place, having = _PLACE.match(text, at), _HAVING.match(text, at)
        if place is not None:
            found.append(int(place[1]))
            at = place.end()
        elif having is not None:
            test = None if having[3] is None else _test(having[3], having[4].strip())
            found.append(Having(bool(having[1]), having[2], test))
            at = having.end()
        else:
            raise ContentError(f"xpath: {text[at : at + 20]!r} is no condition")
        if len(found) > PATH_STEPS_MAX:
            raise ContentError(f"xpath: at most {PATH_STEPS_MAX} conditions")
    return tuple(found), at


def _test(sign: str, wanted: str) -> Test:
    if wanted[:1] in ("'", '"') and wanted[-1:] == wanted[:1] and len(wanted) > 1:
        wanted = wanted[1:-1]
    if sign in ("=", "==", "!="):
        return lambda text: (text == wanted) is (sign != "!=")
    try:
        number = float(wanted)
    except ValueError:
        raise ContentError(f"xpath: {wanted[:20]!r} is not a number") from None
    compare = _COMPARISONS[sign]

    def test(text: str) -> bool:
        try:
            return compare(float(text[:_DIGITS]), number)
        except ValueError:
            return False

    return test


def _document(message: ReceivedMessage) -> Any:
    """The document that a body is, or that WCF has put into it; None if there is none."""
    body = message.body
    inside = decode_body(body, message.body_type).text if is_wcf(body) else None
    for text in (inside,) if inside else texts_of(body):
        if text.lstrip("\ufeff\0 \r\n\t").startswith("<"):
            try:
                return read_tree(text.lstrip("\ufeff"))
            except Malformed:
                continue
    return None


def _select(document: Any, steps: list[PathStep]) -> list[Node]:
    nodes: list[Node] = [(document, (0, "", 0))]
    for step in steps:
        seen: dict[tuple[int, str, int], Node] = {}
        for node in nodes:
            for start in _below(node) if step.is_deep else (node,):
                for found in _steps_from(start, step):
                    seen.setdefault(found[1], found)
            if step.is_deep and node[1] == (0, "", 0):
                break
        nodes = list(seen.values())
    return nodes


def _steps_from(node: Node, step: PathStep) -> list[Node]:
    value = node[0]
    if not isinstance(value, dict):
        return []
    if step.is_attribute:
        names = [one for one in value if one[:1] == "@"] if step.name == "*" else [f"@{step.name}"]
        return [(value[one], (id(value), one, 0)) for one in names if one in value]
    found = [one for one in _children(value) if step.name in ("*", one[1][1])]
    for asked in step.asked:
        if isinstance(asked, int):
            found = found[asked - 1 : asked] if asked else []
        else:
            found = [one for one in found if _has(one[0], asked)]
    return found


def _children(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name[:1] not in ("@", "#"):
                for number, one in enumerate(inner if isinstance(inner, list) else (inner,)):
                    yield one, (id(value), name, number)


def _below(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(_children(one[0]))


def _has(value: Any, asked: Having) -> bool:
    if not isinstance(value, dict):
        return False
    name = f"@{asked.name}" if asked.is_attribute else asked.name
    if name not in value:
        return False
    inner = value[name]
    test = asked.test
    return test is None or any(
        test(_written(one)) for one in (inner if isinstance(inner, list) else (inner,))
    )


def _written(value: Any) -> str:
    """What an element or an attribute says."""
    if isinstance(value, dict):
        value = value.get(_TEXT, "")
    return value if isinstance(value, str) else ""
