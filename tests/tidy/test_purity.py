"""The pure layers use no clock, disk, network, thread or randomness."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.source import Source, sources

PURE = {
    "errors", "limits", "wire", "names", "properties", "security", "packet", "bodies",
    "types", "engine", "app_protocol", "soap", "rpc",
}  # fmt: skip
OUTSIDE = {
    "asyncio", "concurrent", "io", "logging", "multiprocessing", "os", "pathlib", "random",
    "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess", "tempfile",
    "threading", "time", "urllib", "warnings",
}  # fmt: skip
CALLS = {"open", "print", "input", "eval", "exec", "breakpoint"}
METHODS = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom"}


def purity_faults(source: Source) -> list[str]:
    """What in `source` reaches outside of its arguments."""
    faults = [f"imports {name}" for name in source.imports() if name.partition(".")[0] in OUTSIDE]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS | METHODS:
                faults.append(f"line {node.lineno}: {called.id}()")
            if (
                isinstance(called, ast.Attribute)
                and called.attr in METHODS
                and not ast.unparse(called.value).endswith("clock")  # it was given one
            ):
                faults.append(f"line {node.lineno}: .{called.attr}()")
    return faults


def test_pure_layers_do_no_input_or_output() -> None:
    faults = {source.name: purity_faults(source) for source in sources() if source.part in PURE}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import asyncio",
        "from os import path",
        "def f():\n    import time",
        "def f():\n    return open('x')",
        "from datetime import datetime\nstarted = datetime.now()",
        "from uuid import uuid4\nnew = uuid4()",
    ],
)
def test_an_impure_import_is_found(text: str) -> None:
    assert purity_faults(Source("packet.user", text))


def test_arithmetic_on_arguments_is_pure() -> None:
    text = "import struct\nfrom uuid import UUID\ndef f(now: float) -> float:\n    return now + 1"
    assert purity_faults(Source("packet.user", text)) == []
