"""Certificates that are pinned for other managers."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.certificates import make_certificates

from openmsmq.errors import InvalidParameter
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.values import PeerEntry
from openmsmq.transports.peers.tls import PeerCertificates, fingerprint_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


def config_of(made: Path, certificate: Path | None) -> Config:
    entry = PeerEntry("10.0.0.2:1802", UUID(int=2), certificate=certificate)
    cert, key = made / "server.pem", made / "server.key"
    return Config(data=made, tls_cert=cert, tls_key=key, peers={"far": entry})


def certificates(config: Config) -> PeerCertificates:
    assert config.tls_cert
    assert config.tls_key
    return PeerCertificates(config.peer_certificates, (config.tls_cert, config.tls_key))


def test_a_pinned_peer_is_dialled_and_let_in_with_its_certificate(made: Path) -> None:
    found = certificates(config_of(made, Path("client.pem")))
    assert found.fingerprints == {"far": fingerprint_of(made / "client.pem")}
    assert found.client("near") is None
    for context in (found.client("far"), found.server()):
        assert context is not None
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert not context.check_hostname
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_peer_without_one_is_dialled_as_ever(made: Path) -> None:
    found = certificates(config_of(made, None))
    assert (found.fingerprints, found.client("far")) == ({}, None)


@pytest.mark.parametrize("content", [None, b"", b"no certificate", b"\xff\xfe"])
def test_a_file_that_is_none_is_refused(made: Path, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "peer.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidParameter, match=r"peer\.pem"):
        certificates(config_of(made, file))


def test_a_key_that_does_not_fit_is_refused(made: Path) -> None:
    config = replace(config_of(made, made / "client.pem"), tls_key=made / "client.key")
    with pytest.raises(InvalidParameter, match="TLS with other managers"):
        certificates(config).server()


def test_certificates_need_one_of_our_own(made: Path) -> None:
    entry = PeerEntry("10.0.0.2", UUID(int=2), certificate=made / "client.pem")
    with pytest.raises(ConfigError, match=r"tls\.cert"):
        Config(data=made, peers={"far": entry})
    with pytest.raises(ConfigError, match=r"tls\.cert"):
        Config(data=made, binary_tls_port=1802)
