"""Archives by their formats: what a file says about one, and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from openmsmq.pipelines.archive.batches import ArchiveStore
from openmsmq.pipelines.archive.delta import LOG, DeltaArchive
from openmsmq.pipelines.archive.files import MANIFEST, Folder
from openmsmq.pipelines.archive.iceberg import CATALOG, TABLE, CatalogName, IcebergArchive
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError, TomlTable

PARQUET: Final = "parquet"
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
FORMATS: Final = (PARQUET, DELTA, ICEBERG)
_PACKAGES: Final = {DELTA: "deltalake", ICEBERG: "pyiceberg"}


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """Where an archive is, and in which format."""

    location: DataFolder
    format: str = PARQUET
    name: CatalogName = field(default_factory=CatalogName)

    def open(self) -> ArchiveStore:
        """The archive, which need not be there yet."""
        if self.format == DELTA:
            return DeltaArchive(self.location)
        if self.format == ICEBERG:
            return IcebergArchive(self.location, self.name)
        return Folder(self.location.path)

    def check(self, key: str) -> None:
        """`PipelineFileError` if there cannot be such an archive."""
        package = _PACKAGES.get(self.format)
        if package is not None and find_spec(package) is None:
            raise PipelineFileError(
                f"{key}.format is {self.format!r}, which needs {package}:"
                " pip install 'openmsmq[tables]'"
            )
        if self.format == PARQUET and not self.location.is_local:
            raise PipelineFileError(
                f"{key}.path is {str(self.location)!r}: plain files have no commit in an object"
                f' store, so that readers would see half of a batch. Use format = "{DELTA}" or'
                f' "{ICEBERG}"'
            )


def place_of(given: Path | str) -> ArchivePlace:
    """An archive that is there, by its folder or URI."""
    text = str(given)
    location = DataFolder(text if "://" in text else str(Path(given).absolute()))
    return ArchivePlace(location, found_format(location))


def read_archive_place(table: TomlTable, *, find: bool = False) -> ArchivePlace:
    """How a table says which archive is meant; `find`: the format of one that is there."""
    location = table.location("path")
    catalog = table.text("catalog", "")
    named = table.text("table", TABLE)
    default = found_format(location, catalog) if find else PARQUET
    chosen = table.choice("format", FORMATS, default)
    if catalog and chosen != ICEBERG:
        raise table.wrong("catalog", f'is for format = "{ICEBERG}"')
    if "." not in named:
        raise table.wrong("table", f"is {named!r}: NAMESPACE.NAME is needed")
    return ArchivePlace(location, chosen, CatalogName(catalog, named))


def found_format(location: DataFolder, catalog: str = "") -> str:
    """The format of an archive that is there."""
    if catalog:
        return ICEBERG
    if not location.is_local:
        return DELTA
    if (location.path / LOG).exists():
        return DELTA
    is_iceberg = (location.path / CATALOG).exists() and not (location.path / MANIFEST).exists()
    return ICEBERG if is_iceberg else PARQUET
