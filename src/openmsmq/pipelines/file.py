"""Reads the TOML file of a pipeline and checks it before anything starts.

The kind of a pipeline follows from the one table that the file has of those in
`pipelines.kinds.KINDS`: `[sink]` for a custom pipeline, or the table of a built-in one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from openmsmq.pipelines.kinds import KINDS
from openmsmq.pipelines.spec import AVAILABLE_NOW, ONCE, Pipeline, Transform, read_source
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.spark.columns import nearest
from openmsmq.toml import read_toml

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_TRANSFORM: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def read_pipeline(given: str | os.PathLike[str] | Mapping[str, Any]) -> Pipeline:
    """A pipeline from a file, or from the contents of one; `PipelineFileError` if it is invalid."""
    if isinstance(given, Mapping):
        return _pipeline(given, Path.cwd(), "")
    file = Path(given)
    try:
        document = read_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PipelineFileError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise PipelineFileError(f"{file}: {error}") from None
    try:
        return _pipeline(document, file.parent.absolute(), file.stem)
    except PipelineFileError as error:
        raise PipelineFileError(f"{file}: {error}") from None


def _pipeline(document: Mapping[str, Any], folder: Path, stem: str) -> Pipeline:
    root = TomlTable("", document, folder)
    name = root.text("name", stem or None)
    if not NAME.fullmatch(name):
        raise root.wrong("name", f"is {name!r}: up to 60 letters, digits and . _ - are needed")
    kind = _kind(document, tuple(KINDS))
    ready = KINDS[kind]
    source = read_source(root.table("source")) if ready.streams or "source" in root else None
    settings = ready.read(root.table(kind))
    checkpoint = (
        root.path("checkpoint") if "checkpoint" in root else ready.checkpoint(name, settings)
    )
    if ready.streams and ready.needs_checkpoint and checkpoint is None:
        hint = "a folder where Spark keeps how far it has come"
        raise root.wrong("checkpoint", f"is missing: {hint}")
    made = Pipeline(
        name=name,
        kind=kind,
        settings=settings,
        folder=folder,
        source=source,
        transform=_transform(root.table("transform")) if kind == "sink" else Transform(),
        checkpoint=checkpoint,
        trigger=_trigger(root),
        master=root.text("master", "local[*]"),
        spark=root.mapping("spark"),
    )
    root.done()
    return made


def _kind(document: Mapping[str, Any], known: tuple[str, ...]) -> str:
    found = [name for name in known if name in document]
    if len(found) == 1:
        return found[0]
    tables = ", ".join(f"[{name}]" for name in found or known)
    if found:
        raise PipelineFileError(f"the file has {tables}: one of them is what a pipeline does")
    others = [name for name, value in document.items() if isinstance(value, Mapping | list)]
    hints = (nearest(name, known) for name in others if name not in ("source", "transform"))
    hint = next((hint for hint in hints if "did you mean" in hint), "")
    raise PipelineFileError(f"what shall it do? One of these tables is needed: {tables}{hint}")


def _transform(table: TomlTable) -> Transform:
    sql, python = table.text("sql", ""), table.text("python", "")
    if sql and python:
        raise table.wrong("sql", "or transform.python: give one of them")
    if python and not _TRANSFORM.fullmatch(python):
        raise table.wrong("python", f"is {python!r}: module:function is needed")
    return Transform(sql, python)


def _trigger(table: TomlTable) -> str | int:
    found = table.value("trigger", AVAILABLE_NOW)
    if isinstance(found, int) and not isinstance(found, bool) and found > 0:
        return found
    if found in (AVAILABLE_NOW, ONCE):
        return str(found)
    hint = nearest(found, (AVAILABLE_NOW, ONCE)) if isinstance(found, str) else ""
    raise table.wrong("trigger", f'is {found!r}: "available-now", "once" or seconds{hint}')
