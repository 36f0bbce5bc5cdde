"""Tables of a TOML file, read key by key; a key that is never read is a mistake of its writer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from openmsmq.pipelines.location import SCHEMES, DataFolder
from openmsmq.spark.columns import nearest

_MISSING: Final = object()


class PipelineFileError(ValueError):
    """The file says what cannot be."""


class TomlTable:
    """A table of the file, by its name; `done` complains about keys that were not asked for."""

    def __init__(self, name: str, values: Mapping[str, Any], folder: Path) -> None:
        self._name = name
        self._values = values
        self._folder = folder
        self._asked: list[str] = []
        self._tables: list[TomlTable] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def key(self, key: str) -> str:
        """A key as messages call it: `source.queue`."""
        return f"{self._name}.{key}" if self._name else key

    def wrong(self, key: str, what: str) -> PipelineFileError:
        """The error for the value of a key."""
        return PipelineFileError(f"{self.key(key)} {what}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text; needed if there is no default."""
        found = self._value(key, default)
        if not isinstance(found, str) or not (found or default == ""):
            raise self.wrong(key, f"is {found!r}: a text is needed")
        return found

    def choice(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        """One of some words."""
        found = self.text(key, default)
        if found not in known:
            raise self.wrong(key, f"is {found!r}{nearest(found, known)}")
        return found

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts, or a single one."""
        found = self._value(key, default)
        items = [found] if isinstance(found, str) else found
        is_list = isinstance(items, list | tuple)
        if not is_list or not all(isinstance(item, str) and item for item in items):
            raise self.wrong(key, f"is {found!r}: a text or a list of texts is needed")
        if not items and default is None:
            raise self.wrong(key, "is an empty list")
        return tuple(items)

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        found = self._value(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise self.wrong(key, f"is {found!r}: a whole number from {least} on is needed")
        return found

    def number(self, key: str) -> int | None:
        """A whole number from 1 on, if there is one."""
        self._asked.append(key)
        return self.whole(key) if key in self._values else None

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        found = self._value(key, default)
        if not isinstance(found, bool):
            raise self.wrong(key, f"is {found!r}: true or false is needed")
        return found

    def value(self, key: str, default: object = None) -> Any:
        """Whatever there is."""
        return self._value(key, default)

    def path(self, key: str, default: Path | None = None) -> Path:
        """A path; a relative one begins where the file is."""
        if default is not None and key not in self._values:
            self._asked.append(key)
            return default
        text = self.text(key)
        if "://" in text:
            hint = "give a path that the driver and all workers share"
            raise self.wrong(key, f"is {text!r}: {hint}")
        return (self._folder / Path(text).expanduser()).absolute()

    def location(self, key: str) -> DataFolder:
        """A path, or the URI of a folder in an object store."""
        text = self.text(key)
        scheme, is_uri, _ = text.partition("://")
        if not is_uri:
            return DataFolder(str((self._folder / Path(text).expanduser()).absolute()))
        if scheme not in SCHEMES:
            names = ", ".join(f"{one}://" for one in SCHEMES)
            raise self.wrong(key, f"is {text!r}: a path is needed, or a URI with {names}")
        return DataFolder(text.rstrip("/"))

    def table(self, key: str) -> TomlTable:
        """A table in it; empty if there is none."""
        return self._table(key, key, self._value(key, {}))

    def tables(self, key: str) -> list[TomlTable]:
        """A list of tables; empty if there is none."""
        found = self._value(key, [])
        if not isinstance(found, list):
            raise self.wrong(key, f"must be a list of tables, [[{self.key(key)}]]")
        return [self._table(key, f"{key}[{n}]", each) for n, each in enumerate(found, 1)]

    def mapping(self, key: str) -> dict[str, str]:
        """A table of texts with keys of any kind."""
        found = self._value(key, {})
        if not isinstance(found, Mapping) or not all(
            isinstance(value, str | int) and not isinstance(value, bool) for value in found.values()
        ):
            raise self.wrong(key, f"must be a table of texts, [{self.key(key)}]")
        return {name: str(value) for name, value in found.items()}

    def done(self) -> None:
        """`PipelineFileError` if there is an unknown key."""
        for key in self._values:
            if key not in self._asked:
                hint = nearest(key, dict.fromkeys(self._asked))
                where = f" in [{self._name}]" if self._name else ""
                raise PipelineFileError(f"there is no key {key!r}{where}{hint}")
        for table in self._tables:
            table.done()

    def _value(self, key: str, default: object) -> Any:
        self._asked.append(key)
        found = self._values.get(key, _MISSING)
        if found is not _MISSING:
            return found
        if default is None:
            raise self.wrong(key, f"is missing{self._typo(key)}")
        return default

    def _typo(self, key: str) -> str:
        """A hint at a key that is probably the missing one, wrongly spelled."""
        others = [name for name in self._values if name not in self._asked]
        found = nearest(key, others) if others else ""
        return f"; is it {found.partition('mean ')[2]}" if "did you mean" in found else ""

    def _table(self, key: str, name: str, found: object) -> TomlTable:
        if not isinstance(found, Mapping):
            raise self.wrong(key, f"must be a table, [{self.key(key)}]")
        made = TomlTable(self.key(name), found, self._folder)
        self._tables.append(made)
        return made
