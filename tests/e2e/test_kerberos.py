"""Kerberos with a real domain: a Samba AD DC makes the tickets, and Samba calls us with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

import openmsmq
from openmsmq.access.users import Users
from tests.e2e.managers import ManagerProcess, free_port, running

SYSTEM_PYTHON = "/usr/bin/python3"
NEEDED = ("samba", "samba-tool", "ldbmodify", "kinit")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"{MISSING}: apt-get install samba-ad-dc samba-ad-provision ldb-tools krb5-user",
    ),
    pytest.mark.skipif(find_spec("gssapi") is None, reason="the extra kerberos is not installed"),
]
REALM, HOST = "OPENMSMQ.TEST", "mq1.openmsmq.test"
PASSWORD = "Alice-Passw0rd!"
AES = """dn: CN=mqsvc,CN=Users,DC=openmsmq,DC=test
changetype: modify
replace: msDS-SupportedEncryptionTypes
msDS-SupportedEncryptionTypes: 24
"""
KRB5 = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 .openmsmq.test = {realm}
"""


@dataclass(frozen=True)
class Domain:
    """A realm with a key for this computer, and where its tickets come from."""

    keytab: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Domain]:
    """A domain controller that answers at a port of its own; its user alice has a ticket."""
    home = tmp_path_factory.mktemp("domain")
    settings, database = home / "etc/smb.conf", home / "private/sam.ldb"

    def tool(*arguments: str, given: str = "") -> None:
        done = subprocess.run(arguments, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments[:4]}: {done.stdout}{done.stderr}"

    names = (f"--realm={REALM}", "--domain=OMQ", "--host-name=dc1", "--host-ip=127.0.0.1")
    places = ("--dns-backend=NONE", f"--targetdir={home}", "--option=interfaces=lo")
    bound = "--option=bind interfaces only=yes"
    provision = ("samba-tool", "domain", "provision", "--server-role=dc", "--adminpass=Passw0rd!x")
    tool(*provision, *names, *places, bound)
    port = free_port()
    kdc = f"server services = kdc\nkrb5 port = {port}\nkpasswd port = {free_port()}\n"
    lines = [line for line in settings.read_text().splitlines() if "server services" not in line]
    settings.write_text("\n".join(lines).replace("[global]", f"[global]\n{kdc}"))
    where = ("-H", str(database), "-s", str(settings))
    tool("samba-tool", "user", "create", "alice", PASSWORD, *where)
    tool("samba-tool", "user", "create", "mqsvc", "Svc-Passw0rd!1", *where)
    tool("samba-tool", "spn", "add", f"host/{HOST}", "mqsvc", *where)
    tool("ldbmodify", "-H", str(database), given=AES)
    # Keys for AES are made with the next password.
    tool("samba-tool", "user", "setpassword", "mqsvc", "--newpassword=Svc-Passw0rd!2", *where)
    keytab = home / "mq.keytab"
    export = ("samba-tool", "domain", "exportkeytab", str(keytab), f"--principal=host/{HOST}")
    tool(*export, "-s", str(settings))
    (home / "krb5.conf").write_text(KRB5.format(realm=REALM, port=port))
    environment = {"KRB5_CONFIG": str(home / "krb5.conf"), "KRB5CCNAME": str(home / "tickets")}
    command = ("samba", "-i", "-M", "single", "-s", str(settings), "--debug-stdout")
    with (home / "log").open("w") as log:
        serving = subprocess.Popen((*command, f"--option=pid directory={home}"), stdout=log)
    try:
        until = time.monotonic() + 60
        while not _ticket(environment):
            assert time.monotonic() < until, (home / "log").read_text()
            time.sleep(0.5)
        yield Domain(keytab, environment)
    finally:
        serving.kill()
        serving.wait()


def _ticket(environment: dict[str, str]) -> bool:
    found = subprocess.run(
        ("kinit", "alice"),
        input=PASSWORD,
        text=True,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return found.returncode == 0


@pytest.fixture
def shop(domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagerProcess:
    """A manager in the domain, which knows alice and not bob."""
    for name, value in domain.environment.items():
        monkeypatch.setenv(name, value)
    made = ManagerProcess(tmp_path, "mq1", options=("--rpc-port", "0"))
    Users(made.folder / "data").add("alice", "", "read", kerberos_only=True)
    (made.folder / "data" / "openmsmq.toml").write_text(f'[rpc]\nkeytab = "{domain.keytab}"\n')
    return made


CALLER = """
import json, sys
import openmsmq

port, level = int(sys.argv[1]), sys.argv[2]
given = {"port": port, "computer": sys.argv[3], "auth": "kerberos", "level": level}
with openmsmq.connect_remote("127.0.0.1", **given) as manager:
    queue = manager.open_queue("DIRECT=OS:mq1\\\\private$\\\\orders")
    print(len(queue.receive(timeout=5).body))
"""


@pytest.mark.parametrize("level", ["connect", "integrity", "privacy"])
def test_a_user_with_a_ticket_reads(shop: ManagerProcess, level: str) -> None:
    """MQRR-033"""
    with running(shop):
        with openmsmq.connect(shop.app) as manager:
            manager.create_queue("orders").send(openmsmq.Message(bytes(20_000)))
        command = (sys.executable, "-c", CALLER, str(shop.ready["rpc"][1]), level, HOST)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout == "20000\n", done.stderr


SAMBA = """
import sys
from samba import credentials, param
from samba.dcerpc import base, mgmt

port, options, password, interface = sys.argv[1:]
settings = param.LoadParm()
settings.load_default()
settings.set("realm", "OPENMSMQ.TEST")
known = credentials.Credentials()
known.guess(settings)
known.set_username("alice")
known.set_password(password)
known.set_realm("OPENMSMQ.TEST")
known.set_domain("OMQ")
known.set_kerberos_state(credentials.MUST_USE_KERBEROS)
place = f"ncacn_ip_tcp:127.0.0.1[{port},target_hostname=mq1.openmsmq.test,{options}]"
first = mgmt.mgmt(place, settings, known)
first.inq_if_ids()
made = base.ClientConnection(place, (interface, 1), settings, known, basis_connection=first)
print(made.request(0, b"").hex())
"""
REMOTE_READ = "1a9134dd-7b39-45ba-ad88-44d01ca47f28"


@pytest.mark.parametrize(
    "options", ["krb5,connect", "krb5,sign", "krb5,seal", "spnego,sign", "spnego,seal"]
)
def test_samba_calls_with_a_ticket(shop: ManagerProcess, options: str) -> None:
    """MQRR-033: an independent client, Kerberos alone and within SPNEGO."""
    found = subprocess.run([SYSTEM_PYTHON, "-c", "import samba.dcerpc.mgmt"], capture_output=True)
    if found.returncode:
        pytest.skip("Samba's Python bindings are not installed: apt-get install python3-samba")
    with running(shop):
        port = shop.ready["rpc"][1]
        command = (SYSTEM_PYTHON, "-c", SAMBA, str(port), options, PASSWORD, REMOTE_READ)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == port.to_bytes(4, "little").hex(), done.stderr


def test_a_user_that_is_not_known_here_reads_nothing(shop: ManagerProcess) -> None:
    """A ticket says who calls, not what they may do."""
    Users(shop.folder / "data").remove("alice")
    with running(shop):
        with openmsmq.connect(shop.app) as manager:
            manager.create_queue("orders").send(openmsmq.Message(b"secret"))
        command = (sys.executable, "-c", CALLER, str(shop.ready["rpc"][1]), "privacy", HOST)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "AccessDenied" in done.stderr
        assert done.stdout == ""
