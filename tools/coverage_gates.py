"""Branch coverage by layer, against what each layer has to reach: `make coverage`.

Reads the JSON report of coverage.py. A layer without a gate is shown and passes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

GATES: Final[Mapping[str, float]] = {
    "app_protocol": 100.0,
    "bodies": 100.0,
    "clock": 100.0,
    "errors": 100.0,
    "limits": 100.0,
    "names": 100.0,
    "packet": 100.0,
    "properties": 100.0,
    "security": 100.0,
    "soap": 100.0,
    "types": 100.0,
    "wire": 100.0,
}
"Per cent of lines and branches that tests of the layer itself reach, at least."


@dataclass(slots=True)
class Covered:
    """Lines and branches of a layer, and how many of them tests reach."""

    reached: int = 0
    all: int = 0

    @property
    def percent(self) -> float:
        """Rounded down to a tenth, so that 100 means all."""
        return int(1000 * self.reached / self.all) / 10 if self.all else 100.0


def by_layer(report: Mapping[str, Any]) -> dict[str, Covered]:
    """The files of a report, added up by the folder of the package that they are in."""
    found: dict[str, Covered] = defaultdict(Covered)
    for name, content in report["files"].items():
        below = Path(name).parts
        layer = below[below.index("openmsmq") + 1].removesuffix(".py")
        totals = content["summary"]
        found[layer].reached += totals["covered_lines"] + totals["covered_branches"]
        found[layer].all += totals["num_statements"] + totals["num_branches"]
    return dict(found)


def main(path: str) -> int:
    """Show every layer; 1 if one is below its gate."""
    found = by_layer(json.loads(Path(path).read_text()))
    low = False
    for layer, covered in sorted(found.items()):
        gate = GATES.get(layer)
        is_low = gate is not None and covered.percent < gate
        low = low or is_low
        wanted = "" if gate is None else f"  gate {gate:5.1f}{'  TOO LOW' if is_low else ''}"
        sys.stdout.write(f"{layer:14} {covered.percent:5.1f} %{wanted}\n")
    return int(low)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
