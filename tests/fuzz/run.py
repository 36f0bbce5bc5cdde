"""One fuzzing process: `python -m tests.fuzz.run TARGET LIBFUZZER-ARGUMENTS`.

Only the package that a target is about is instrumented, where one is named here: what is below it
has targets of its own, and runs many times faster as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = {
    "dependent_": "openmsmq.client.dependent",
    "directory_": "openmsmq.directory",
    "management_": "openmsmq.client.management",
    "older_": "openmsmq.interfaces",
    "pgm_": "openmsmq.transports.pgm",
    "remote_": "openmsmq.interfaces",
    "rpc_": "openmsmq.rpc",
    "soap": "openmsmq.soap",
    "supporting_": "openmsmq.interfaces",
    "topology_": "openmsmq.routing",
}
"By what the name of a target begins with."


def package_of(target: str) -> str:
    """What is instrumented."""
    named = [PACKAGES[start] for start in PACKAGES if target.startswith(start)]
    return named[0] if named else "openmsmq"


def others(package: str) -> Iterator[str]:
    """All modules outside of a package: atheris looks at the first word of an inclusion only."""
    found = find_spec("openmsmq")
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).parent
    for path in source.rglob("*.py"):
        parts = path.relative_to(source.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name != package and not name.startswith(package + "."):
            yield name


if __name__ == "__main__":
    import atheris

    _, target, *arguments = sys.argv
    with atheris.instrument_imports(include=["openmsmq"], exclude=[*others(package_of(target))]):
        from tests.fuzz.targets import TARGETS
    # Merging starts further processes by this name, through a shell.
    program = f"{sys.executable} -m tests.fuzz.run {target}"
    atheris.Setup([program, *arguments], TARGETS[target])
    atheris.Fuzz()
