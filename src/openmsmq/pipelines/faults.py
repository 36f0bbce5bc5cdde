"""What went wrong in Spark, in one line for people."""

from __future__ import annotations

import re
from typing import Final

_SHOWN: Final = 500
_PYTHON: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Z]\w*): (.+)$", re.MULTILINE)
"The last line of a traceback."
_SPARK: Final = re.compile(r"^\s*\[([A-Z0-9_.]+)\] (.*?)(?: SQLSTATE: \w+)?(?:;|$)", re.MULTILINE)
_QUERY: Final = re.compile(r"^Query \[id = .*?\] terminated with exception: ")
_OUTER: Final = ("StreamingQueryException", "PythonException", "Py4JJavaError", "SparkException")


class PipelineError(Exception):
    """A pipeline cannot go on, and why, in one line."""


def in_words(error: BaseException) -> str:
    """An exception of Spark, of Python below Spark, or of ours, as one line."""
    from openmsmq.errors import MQError

    if isinstance(error, MQError):
        return error.text if error.detail else str(error)
    text = str(error)
    found = [m for m in _PYTHON.finditer(text) if m[1] not in _OUTER and "java" not in m[0][:5]]
    if "Traceback (most recent call last)" in text and found:
        return _short(found[-1][2])
    if found := list(_SPARK.finditer(text)):
        return _short(_QUERY.sub("", found[-1][2]))
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _short(first or type(error).__name__)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
