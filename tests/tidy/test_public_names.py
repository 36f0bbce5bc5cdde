"""`help()` and an IDE show a sentence for every public name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

import openmsmq
import openmsmq.aio

PLAIN = (Exception, Enum)


def public_names() -> Iterator[tuple[str, object]]:
    """The names of both modules that programs import."""
    for module in (openmsmq, openmsmq.aio):
        for name in module.__all__:
            if name != "__version__":
                yield f"{module.__name__}.{name}", getattr(module, name)


def members(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class has of its own or from its bases."""
    for name in dir(kind):
        if name.startswith("_") or issubclass(kind, PLAIN):
            continue
        found = inspect.getattr_static(kind, name)
        is_field = is_dataclass(kind) and name in {field.name for field in fields(kind)}
        if is_field and not isinstance(found, property):
            continue
        if isinstance(found, property | classmethod | staticmethod) or inspect.isfunction(found):
            yield name, found


@pytest.mark.parametrize(("name", "value"), list(public_names()))
def test_a_public_name_has_a_sentence(name: str, value: object) -> None:
    assert _is_sentence(inspect.getdoc(value)), name
    if isinstance(value, type):
        wrong = [
            one
            for one, member in members(value)
            if not _is_sentence(inspect.getdoc(member))  # also that of a base
            and not hasattr(str, one)
            and not hasattr(tuple, one)
        ]
        assert not wrong, f"{name}: {', '.join(wrong)}"


def _is_sentence(text: str | None) -> bool:
    return text is not None and text.strip()[-1:] in (".", "`", ")") and text[:1] not in ("", " ")


def test_dir_lists_exactly_the_public_names() -> None:
    module: ModuleType = openmsmq
    assert dir(module) == sorted(openmsmq.__all__)


def test_the_docstring_of_the_package_is_a_program() -> None:
    assert openmsmq.__doc__ is not None
    code = openmsmq.__doc__.partition("\n\n")[2]
    ast.parse(code)
    assert Path(openmsmq.__file__ or "").name == "__init__.py"
