"""What doctor says of messages over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openmsmq.cli.doctor.http import exposure, http_advice, is_http
from openmsmq.service.backup import write_down
from openmsmq.service.configuration import Config
from openmsmq.types.outgoing import OutgoingInfo

WAY = OutgoingInfo(
    name=r"DIRECT=HTTPS://shop02/msmq/private$/orders",
    state="inactive",
    messages=3,
    unacknowledged=0,
    unprocessed=0,
    bytes=300,
    oldest_age=60,
    next_hop="shop02",
    connected_since=None,
    failures=2,
    next_retry=1,
    last_error="",
    resends=0,
    attempts=(),
)


def test_http_names_are_known() -> None:
    assert is_http(WAY)
    assert is_http(replace(WAY, name="direct=http://shop02/msmq/private$/orders"))
    assert not is_http(replace(WAY, name=r"DIRECT=OS:shop02\private$\orders"))


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("ClientConnectorCertificateError: CERTIFICATE_VERIFY_FAILED", "--srmp-ca"),
        ("ClientConnectorSSLError: [SSL] record layer failure", "DIRECT=HTTP://"),
        ("shop02 answered 400", "not of the same kind"),
        ("shop02 answered 404", "pass /msmq/ on"),
        ("shop02 answered 407", "USER:PASSWORD"),
        ("shop02 answered 413", "smaller bodies"),
        ("shop02 answered 503", "busy"),
        ("ClientConnectorError: refused", "--srmp-port"),
    ],
)
def test_the_advice_fits_the_error(error: str, advice: str) -> None:
    assert advice in http_advice(replace(WAY, last_error=error))


def test_receipts_that_do_not_come_are_named() -> None:
    """SRMP-262: messages are sent again without an acknowledgement."""
    assert "--srmp-url" in http_advice(replace(WAY, resends=2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"srmp_port": 8080, "srmp_bind": "0.0.0.0"}, "no TLS"),
        ({"srmp_port": 8080, "srmp_bind": "127.0.0.1"}, ""),
        ({"srmp_bind": "0.0.0.0"}, ""),
        ({"srmp_port": 8080, "binary_bind": "192.0.2.1", "tls_cert": "a", "tls_key": "b"}, "post"),
        (
            {"srmp_port": 1, "srmp_bind": "::", "tls_cert": "a", "tls_key": "b"}
            | {"tls_client_ca": "c"},
            "",
        ),
    ],
    ids=["in the clear", "loopback", "off", "with TLS", "with certificates of clients"],
)
def test_a_port_that_everyone_reaches_is_a_risk(
    tmp_path: Path, given: dict[str, object], words: str
) -> None:
    paths = {k: Path(str(v)) if k.startswith("tls_") else v for k, v in given.items()}
    write_down(Config(data=tmp_path, **paths), "shop01")  # type: ignore[arg-type]
    found = exposure(tmp_path)
    assert words in found
    assert bool(found) == bool(words)


def test_a_directory_that_never_was_served_is_no_risk(tmp_path: Path) -> None:
    assert exposure(tmp_path) == ""
