"""What this process is called in the history of messages and in logs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def this_process() -> str:
    """Who calls, in words."""
    name = Path(sys.argv[0]).name or "python"
    program = "".join(char if char.isprintable() else "?" for char in name)
    return f"{program} (process {os.getpid()})"
