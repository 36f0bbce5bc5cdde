"""The connector as an archive that travels to the workers of a cluster, for `--py-files`.

It is plain Python: the client, what is built on it, and the values of both, without the server and
the command line. Workers bring Python 3.11 or newer, pyarrow and lxml.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import openmsmq

PARTS: Final = frozenset(
    {
        "aio", "app_protocol", "bodies", "client", "errors", "interfaces", "limits", "names", "net",
        "packet", "pipelines", "process", "properties", "routing", "rpc", "security", "soap",
        "spark", "toml", "types", "wire",
    }
)  # fmt: skip
"What the archive has of the package, whole."
FILES: Final = frozenset(
    {"store/__init__.py", "store/directories.py", "store/faults.py", "store/lock.py"}
)
"What pipelines need beside: locks on directories, which are theirs too."
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
    """The modules by their paths in the archive; from a folder, or from such an archive itself."""
    home = Path(openmsmq.__file__).parent
    if home.is_dir():
        for file in sorted(home.rglob("*.py")):
            path = file.relative_to(home)
            part = path.parts[0].removesuffix(".py")
            if part in PARTS or part == "__init__" or path.as_posix() in FILES:
                yield file.relative_to(home.parent).as_posix(), file.read_bytes()
        return
    with zipfile.ZipFile(home.parent) as archive:
        for name in sorted(archive.namelist()):
            yield name, archive.read(name)
