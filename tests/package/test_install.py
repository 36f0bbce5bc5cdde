"""The sdist is complete, the wheel is built from it, and both work in an empty environment.

`make test` uses the Python that runs it; `make torture` every one that this computer has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

import openmsmq
from openmsmq.assets import ASSETS
from tests.package.programs import EMBEDDED, REMOTE

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
DEADLINE_S = 60.0

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path | None = None, **environment: str) -> str:
    """What a command prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENMSMQ")}
    clean.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from its unpacked sources alone."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    [wheel] = folder.glob("*.whl")
    return sdist, wheel


def find_python(version: str) -> str | None:
    """The interpreter of this version that runs here, if there is one."""
    if version == OWN:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = [str(path / "bin" / "python") for path in sorted(pyenv.glob(f"{version}.*"))]
    for name in (f"python{version}", f"/usr/bin/python{version}", *own):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", "import venv"], check=False).returncode == 0:
            return path
    return None


def environment(folder: Path, python: str, package: Path) -> Path:
    """The programs of a new virtual environment that has the package and nothing else."""
    run(python, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"]
    run(*pip, "--quiet", "--disable-pip-version-check", "--no-compile", package)
    return folder / "bin"


@contextmanager
def served(programs: Path, folder: Path) -> Iterator[str]:
    """A service of the installed package; the address for programs."""
    ready = folder / "ready.json"
    ports = [f"--{name}-port={value}" for name, value in (("app", 0), ("console", "off"))]
    command = [str(programs / "openmsmq"), "serve", "--data", str(folder / "served")]
    process = subprocess.Popen([*command, *ports, "--binary-port=0", f"--ready-file={ready}"])
    try:
        deadline = monotonic() + DEADLINE_S
        while not ready.exists():
            assert process.poll() is None, "the service has ended"
            assert monotonic() < deadline, "the service is not ready in time"
            sleep(0.05)
        host, port = json.loads(ready.read_text())["app"]
        yield f"{host}:{port}"
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0


def try_out(programs: Path, folder: Path) -> None:
    """What a new user does first."""
    python = programs / "python"
    assert run(programs / "openmsmq", "--version").split()[-1] == openmsmq.__version__
    run(programs / "openmsmq", "assets", folder / "assets")
    assert {path.name for path in (folder / "assets").iterdir()} == set(ASSETS)
    (folder / "embedded.py").write_text(EMBEDDED)
    shown = run(python, "-W", "error", folder / "embedded.py", folder / "data")
    assert shown == f"{openmsmq.__version__}: QueueNotFound\n"
    (folder / "remote.py").write_text(REMOTE)
    with served(programs, folder) as address:
        assert run(python, "-W", "error", folder / "remote.py", address) == "received 3\n"


def test_the_sdist_has_all_that_a_checkout_needs(built: tuple[Path, Path]) -> None:
    tracked = run("git", "ls-files", cwd=ROOT).splitlines() if (ROOT / ".git").exists() else []
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    left_out = {name for name in tracked if not name.startswith(".github/")} - names
    assert left_out == set()
    assert {"Makefile", "tools/setup", "pyproject.toml", ".ci/run"} <= names


def test_the_wheel_has_the_package_and_its_assets_alone(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"openmsmq"}
    assert {f"openmsmq/assets/{name}" for name in ASSETS} | {"openmsmq/py.typed"} <= set(names)


def test_the_wheel_works_in_an_empty_environment(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Programs written against it pass mypy --strict."""
    programs = environment(tmp_path / "venv", sys.executable, built[1])
    try_out(programs, tmp_path)
    check = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    check += ["--config-file=", "--python-executable", programs / "python"]
    assert "Success" in run(*check, tmp_path / "embedded.py", tmp_path / "remote.py", cwd=tmp_path)


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["sdist", "wheel"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_of_this_computer_can_use_it(
    built: tuple[Path, Path], tmp_path: Path, version: str, kind: str
) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    package = built[kind == "wheel"]
    try_out(environment(tmp_path / "venv", python, package), tmp_path)
