"""JSON bodies, within bounds."""

from __future__ import annotations

import json
import re

from openmsmq.bodies.body import Tree
from openmsmq.errors import Malformed
from openmsmq.limits import JSON_DEPTH_MAX

# A string, closed or not, is skipped whole: its brackets are text, and one that is never closed
# must not be looked at again from each of its quotes.
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def read_json(text: str) -> Tree:
    """The value of a JSON document."""
    _check_depth(text)
    try:
        value: Tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed("JSON", error.pos, error.msg) from None
    except ValueError:
        # Python refuses to read numbers of thousands of digits.
        raise Malformed("JSON", 0, "a number has too many digits") from None
    return value


def _check_depth(text: str) -> None:
    """Refuse what is nested too deep before anything recurses into it."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        found = match[0]
        if found in "[{":
            depth += 1
            if depth > JSON_DEPTH_MAX:
                raise Malformed("JSON", match.start(), f"nested deeper than {JSON_DEPTH_MAX}")
        elif found in "]}":
            depth -= 1
