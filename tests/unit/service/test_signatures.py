"""Keys and certificates that the settings name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.soap import MANAGER
from tests.unit.security.test_certificates import RSA, certificate, pem_of

from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.signatures import load_signatures
from openmsmq.soap.envelope import Signature
from openmsmq.soap.signature import sign


def test_the_files_that_settings_name_are_read(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem_of(RSA))
    (tmp_path / "cert.pem").write_bytes(certificate(RSA).public_bytes(Encoding.PEM))
    config = Config(
        data=tmp_path,
        srmp_signing_key=tmp_path / "key.pem",
        srmp_senders={str(MANAGER): tmp_path / "cert.pem"},
    )
    signer, senders = load_signatures(config)
    assert signer is not None
    assert senders is not None
    signature: Signature = sign(b"1", b"", "sha1", MANAGER, signer)
    found = senders.check(signature, MANAGER, b"")
    assert found is not None
    assert getattr(found, "der", None) == certificate(RSA).public_bytes(Encoding.DER)


@pytest.mark.parametrize("setting", ["srmp_signing_key", "srmp_senders"])
@pytest.mark.parametrize("content", [None, b"no key"], ids=["no file", "something else"])
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, setting: str, content: bytes | None
) -> None:
    path = tmp_path / "file.pem"
    if content is not None:
        path.write_bytes(content)
    value = path if setting == "srmp_signing_key" else {str(MANAGER): path}
    with pytest.raises(ConfigError, match=setting.replace("_", ".", 1)) as caught:
        load_signatures(Config(data=tmp_path, **{setting: value}))  # type: ignore[arg-type]
    assert "file.pem" in str(caught.value)


def test_without_the_library_only_the_settings_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openmsmq.soap.signature_keys", None)
    assert load_signatures(Config(data=tmp_path)) == (None, None)
    with pytest.raises(ConfigError, match=r"openmsmq\[security\]"):
        load_signatures(Config(data=tmp_path, srmp_signing_key=tmp_path / "key.pem"))
