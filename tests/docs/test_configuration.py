"""docs/configuration.md and the files of packaging/ say what can be said."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.generate_config import example, page
from tools.generate_docs import ROOT

from openmsmq.cli.main import main
from openmsmq.service.configuration import Config, changes, load_config
from openmsmq.service.options import OPTIONS
from tests.docs.console import blocks

ASSETS = ROOT / "src" / "openmsmq" / "assets"
EXAMPLES = [
    name
    for name in OPTIONS
    if name.startswith("tls_")
    or name
    in (
        "data",
        "name",
        "aliases",
        "console_hosts",
        "console_masks",
        "console_proxy",
        "console_managers",
        "peers",
        "ready_file",
        "app_socket",
        "binary_bind",
        "rpc_bind",
        "record",
        "srmp_bind",
        "srmp_url",
        "srmp_ca",
        "srmp_proxy",
        "rpc_keytab",
        "rpc_managers",
        "srmp_destinations",
        "srmp_redirect_outgoing",
        "srmp_redirect_except",
        "srmp_redirect_incoming",
        "srmp_forward",
        "srmp_receipt_urls",
        "srmp_signing_key",
        "srmp_senders",
        "directory",
        "directory_site",
        "directory_user",
        "directory_password_file",
        "directory_keytab",
        "directory_ca",
        "multicast_interface",
        "multicast_sources",
    )
]
"Options that have no default worth an example."


def test_the_example_says_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text("\n".join(example()))
    config = load_config(file, {})
    assert sorted(changes(Config(data=tmp_path), config)) == sorted(EXAMPLES)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_every_option_has_a_row(name: str) -> None:
    option = OPTIONS[name]
    section = page().partition(f": `[{option.table}]`")[2].partition("\n## ")[0]
    [row] = [line for line in section.splitlines() if line.startswith(f"| `{option.key}` |")]
    assert option.help in row


@pytest.mark.parametrize("text", blocks(ROOT / "docs" / "service.md", "toml"))
def test_files_on_the_page_can_be_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.toml"
    file.write_text(text)
    assert load_config(file, {"data": tmp_path}).tls_cert == Path("/etc/openmsmq/server.pem")


def test_the_unit_and_the_image_use_options_that_there_are() -> None:
    shown = CliRunner().invoke(main, ["serve", "--help"]).stdout
    unit = (ASSETS / "openmsmq.service").read_text()
    page = (ROOT / "docs" / "service.md").read_text().replace("\\\n", "")
    lines = [line for line in (unit + page).splitlines() if re.search(r"openmsmq serve --", line)]
    assert len(lines) >= 4
    for line in lines:
        options = [word for word in shlex.split(line, comments=False) if word.startswith("--")]
        program_options = ("--rm", "--name")
        for option in options:
            assert f"{option} " in shown or option in program_options


def test_the_image_copies_what_there_is() -> None:
    text = (ROOT / "packaging" / "Containerfile").read_text()
    for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists()
    compile((ASSETS / "healthcheck.py").read_text(), "healthcheck.py", "exec")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = (ASSETS / "openmsmq.service").read_text()
    unit = tmp_path / "openmsmq.service"
    unit.write_text(text.replace("/opt/openmsmq/bin/openmsmq", "/bin/sh"))
    found = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
