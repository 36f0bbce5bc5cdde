"""The connector as an archive that travels to the workers of a cluster, for `--py-files`.

It is the whole package, which is plain Python. Workers bring Python 3.11 or newer, pyarrow and
lxml; the store, the service and the command line are in it, but nothing there is ever imported.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import openmsmq

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"The same sources give the same archive, whenever it is made."
_MODE: Final = 0o644 << 16


def write_package(path: Path) -> int:
    """Write the archive, in place of an older one; how many modules are in it."""
    new = path.with_name(f".{path.name}.new")
    count = 0
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _modules():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _MODE
            archive.writestr(entry, content)
            count += 1
    os.replace(new, path)
    return count


def _modules() -> Iterator[tuple[str, bytes]]:
    """Every module by its path in the archive; from a folder, or from such an archive itself."""
    home = Path(openmsmq.__file__).parent
    if home.is_dir():
        for file in sorted(home.rglob("*.py")):
            yield str(file.relative_to(home.parent).as_posix()), file.read_bytes()
        return
    with zipfile.ZipFile(home.parent) as archive:
        for name in sorted(archive.namelist()):
            yield name, archive.read(name)
