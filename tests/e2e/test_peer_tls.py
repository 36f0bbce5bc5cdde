"""TLS between queue managers: certificates that are pinned, and what they prove."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.security.principals import parse_principal
from tests.e2e.managers import ManagerProcess, free_port, running, texts, until

QUEUE = r"DIRECT=OS:far\private$\orders"


class Pair:
    """Two managers, each with a certificate of its own that the other one has pinned."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("there is no openssl to make certificates with")
        self.folder = folder
        self.ids: dict[str, str] = {}
        self.ports = {"near": free_port(), "far": free_port()}
        self.tls_ports = {"near": free_port(), "far": free_port()}
        self.made = {name: self._make(name) for name in self.ports}
        for name, other in (("near", "far"), ("far", "near")):
            self.configure(name, other, certificate=True)

    def _make(self, name: str) -> ManagerProcess:
        certify(self.folder, name)
        made = ManagerProcess(
            self.folder,
            name,
            port=self.ports[name],
            options=["--config", str(self.folder / f"{name}.toml")],
        )
        with openmsmq.open(made.folder / "data", name=name) as manager:
            self.ids[name] = manager.id
            manager.create_queue("orders", exist_ok=True)
            manager.create_queue("admin", exist_ok=True)
        return made

    def configure(self, name: str, other: str, *, certificate: bool) -> None:
        port = (self.tls_ports if certificate else self.ports)[other]
        pin = f', certificate = "{self.folder / f"{other}.pem"}"' if certificate else ""
        (self.folder / f"{name}.toml").write_text(
            f'[manager.peers]\n{other} = {{ address = "127.0.0.1:{port}",'
            f' id = "{self.ids[other]}"{pin} }}\n'
            f"[binary]\ntls_port = {self.tls_ports[name]}\n"
            f'[tls]\ncert = "{name}.pem"\nkey = "{name}.key"\n'
        )


def certify(folder: Path, name: str) -> None:
    """A certificate that signs itself."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}"]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    subprocess.run([*command, *files], check=True, capture_output=True)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_messages_pass_and_prove_their_manager(pair: Pair) -> None:
    near, far = pair.made["near"], pair.made["far"]
    with running(far, near), near.connect() as here, far.connect() as there:
        orders = there.open_queue("orders")
        orders.set_permissions("O:BAD:(A;;0xF003F;;;BA)")
        refused = Message(
            "refused",
            recoverable=True,
            admin_queue=r"DIRECT=OS:near\private$\admin",
            acknowledge=Acknowledge.NACK_REACH_QUEUE,
        )
        sent = here.open_queue(QUEUE).send(refused)
        # It learns why, which strangers do not.
        answer = here.open_queue("admin").receive(timeout=30)
        assert answer.message_class == MessageClass.NACK_ACCESS_DENIED
        until(lambda: here.explain(sent)[-1].event == "refused_there")
        words = "was refused by manager:far: the sender may not write to the destination queue"
        assert here.explain(sent)[-1].text == words
        plain = here.open_queue(QUEUE).send("it asks for nothing, and is answered all the same")
        until(lambda: here.explain(plain)[-1].text == words)
        entry, *_ = [one for one in there.audit() if not one.allowed]
        assert (entry.who, entry.act) == ("manager:near", "send")

        sid = parse_principal("manager:near")
        orders.set_permissions(f"O:BAD:(A;;0xF003F;;;BA)(A;;LC;;;{sid})")
        here.open_queue(QUEUE).send("hello", recoverable=True)
        until(lambda: texts(there, "orders") == ["hello"])
        assert {peer.name for peer in here.outgoing() if peer.failures} == set()


def test_without_the_certificate_nothing_is_taken(pair: Pair) -> None:
    """The plain port does not help: none but the holder of the key speaks for the manager."""
    pair.configure("near", "far", certificate=False)
    near, far = pair.made["near"], pair.made["far"]
    with running(far, near), near.connect() as here, far.connect() as there:
        here.open_queue(QUEUE).send("who am I", recoverable=True)
        until(lambda: "certificate" in (far.folder / "log").read_text())
        assert texts(there, "orders") == []


def test_another_certificate_does_not_come_in(pair: Pair) -> None:
    near, far = pair.made["near"], pair.made["far"]
    certify(pair.folder, "other")
    for kind in ("pem", "key"):
        (pair.folder / f"other.{kind}").rename(pair.folder / f"near.{kind}.new")
    with running(far):
        for kind in ("pem", "key"):
            (pair.folder / f"near.{kind}.new").rename(pair.folder / f"near.{kind}")
        with running(near), near.connect() as here, far.connect() as there:
            here.open_queue(QUEUE).send("who am I", recoverable=True)
            until(lambda: any(info.failures or info.last_error for info in here.outgoing()))
            assert texts(there, "orders") == []
