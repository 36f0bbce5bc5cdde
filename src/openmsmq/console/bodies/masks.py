"""Masks: what a role is not to see of bodies.

A rule names elements, attributes and members (`card`); their values are shown as `****`, with all
that is inside them. Only a body whose fields are known can be masked: of any other, nothing is
shown. A body that is masked has no download, and cannot be looked for by its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from openmsmq.bodies.body import Body
from openmsmq.bodies.decode import decode_body
from openmsmq.bodies.json import read_json
from openmsmq.bodies.xmltree import read_tree
from openmsmq.console.limits import PREVIEW_MAX
from openmsmq.console.models import BodyView
from openmsmq.errors import Malformed

MASKED: Final = "****"
WITHHELD: Final = "withheld: its fields are not known, so that they cannot be masked"

Names = frozenset[str]


def masks_of(rules: Mapping[str, tuple[str, ...]], role: str) -> Names:
    """The names that are masked for a role: those of each right in it."""
    words = role.split("+")
    return frozenset(
        name.casefold() for right, names in rules.items() if right in words for name in names
    )


def masked_body(body: bytes, body_type: int, names: Names) -> Body:
    """What a body is, without the values of some names; nothing if its fields are not known."""
    found = decode_body(body, body_type)
    tree = _tree(found.text if found.format == "xml" else found.value)
    if tree is None:
        return Body(found.format, None, None, WITHHELD)
    return Body("json", masked(tree, names), None, "masked")


def masked_view(body: bytes, body_type: int, names: Names) -> BodyView:
    """A body as it is shown to who may not see some of its fields."""
    found = decode_body(body, body_type)
    tree = _tree(found.text if found.format == "xml" else found.value)
    if tree is None:
        return BodyView(found.format, None, "", len(body), truncated=False, reason=WITHHELD)
    encoded = msgspec.json.format(msgspec.json.encode(masked(tree, names), enc_hook=str), indent=2)
    text = encoded.decode()
    is_long = len(text) > PREVIEW_MAX
    return BodyView(found.format, text[:PREVIEW_MAX], "", len(body), is_long, "masked")


def _tree(value: Any) -> Any:
    """A value with names in it; None if there are none."""
    if isinstance(value, str):
        for read in (read_tree, read_json):
            try:
                value = read(value)
                break
            except (Malformed, ValueError):
                continue
    return value if isinstance(value, dict | list) else None


def masked(value: Any, names: Names) -> Any:
    """The same without the values of some names; numbers of types no one needs are left out."""
    if isinstance(value, Mapping):
        return {
            str(name): MASKED if _is_masked(str(name), names) else masked(inner, names)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(inner, names) for inner in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


def _is_masked(name: str, names: Names) -> bool:
    """Whether a field has a name that is masked: fields of .NET may be `<card>k__BackingField`."""
    plain = name.casefold().removeprefix("@").removeprefix("_").removeprefix("m_")
    return plain in names or plain.partition(">")[0].removeprefix("<") in names
