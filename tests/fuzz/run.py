"""One fuzzing process: `python -m tests.fuzz.run TARGET LIBFUZZER-ARGUMENTS`.

Only the package that a target is about is instrumented, where one is named here: what is below it
has targets of its own, and runs many times faster as it is.
"""

from __future__ import annotations

import sys
from typing import Final

import atheris

PACKAGES: Final = {
    "directory_": "openmsmq.directory",
    "pgm_": "openmsmq.transports.pgm",
    "remote_": "openmsmq.interfaces",
    "rpc_": "openmsmq.rpc",
    "soap": "openmsmq.soap",
    "supporting_": "openmsmq.interfaces",
}
"By what the name of a target begins with."


def package_of(target: str) -> str:
    """What is instrumented."""
    named = [PACKAGES[start] for start in PACKAGES if target.startswith(start)]
    return named[0] if named else "openmsmq"


if __name__ == "__main__":
    _, target, *arguments = sys.argv
    with atheris.instrument_imports(include=[package_of(target)]):
        from tests.fuzz.targets import TARGETS
    # Merging starts further processes by this name, through a shell.
    program = f"{sys.executable} -m tests.fuzz.run {target}"
    atheris.Setup([program, *arguments], TARGETS[target])
    atheris.Fuzz()
