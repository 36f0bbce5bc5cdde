"""One fuzzing process: `python -m tests.fuzz.run TARGET LIBFUZZER-ARGUMENTS`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["openmsmq"]):
    from tests.fuzz.targets import TARGETS

if __name__ == "__main__":
    _, target, *arguments = sys.argv
    # Merging starts further processes by this name, through a shell.
    program = f"{sys.executable} -m tests.fuzz.run {target}"
    atheris.Setup([program, *arguments], TARGETS[target])
    atheris.Fuzz()
