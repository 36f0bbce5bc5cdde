"""Certificates for tests, made as docs/service.md says they are made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

from tests.docs.console import blocks


def make_certificates(folder: Path) -> None:
    """`ca.pem`, and `server` and `client` as `.pem` and `.key`; skips where OpenSSL is not."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    [script] = [b for b in blocks(ROOT / "docs" / "service.md", "sh") if "openssl req" in b]
    subprocess.run(["sh", "-e", "-c", script], cwd=folder, check=True, capture_output=True)
