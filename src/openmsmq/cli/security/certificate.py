"""`openmsmq certificate`: who signs messages, and whose signatures count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from openmsmq.access.senders import RegisteredCertificate, SenderCertificates, make_certificate
from openmsmq.cli.options import directory_options
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.errors import InvalidCertificate, InvalidParameter
from openmsmq.security.x509 import Certificate, decode_certificate

_PEM = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEEDS = "this needs the package cryptography: pip install 'openmsmq[security]'"


@click.group()
def certificate() -> None:
    """Create certificates for signing messages, and register those that are trusted.

    A sender makes a certificate and keeps its key; each manager that shall know the sender
    registers the certificate, without the key. A service uses changes within seconds.

    \b
    Examples:
      openmsmq certificate create anna --out anna.pem
      openmsmq message send "DIRECT=OS:there\\private$\\orders" --sign anna.pem --body "<order/>"
      openmsmq certificate register anna.pem        (on the other computer)
      openmsmq queue set orders --authenticate
    """


@certificate.command()
@click.argument("name")
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The new file, for its owner only: certificate and private key, in PEM.",
)
@click.option(
    "--register", "is_registered", is_flag=True, help="Register it in the directory, too."
)
@click.option(
    "--if-none",
    is_flag=True,
    help="With --register: make none if one that was made for NAME is registered.",
)
@directory_options
def create(
    name: str, *, out: Path, is_registered: bool, if_none: bool, directory: Path, as_json: bool
) -> None:
    """Make a key and a certificate for the user NAME, with which it signs messages.

    RSA with 2048 bits, valid for 8 years. With --register it takes the place of the one that was
    made for NAME before.

    \b
    Examples:
      openmsmq certificate create anna --out anna.pem
      openmsmq certificate create anna --out anna.pem --register --if-none
    """
    if if_none and not is_registered:
        raise click.UsageError("--if-none needs --register.")
    senders = SenderCertificates(directory)
    try:
        pem = make_certificate(name)
        der = _der_of(pem)
    except ImportError:
        raise InvalidParameter(_NEEDS) from None
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "wb") as stream:
        stream.write(pem)
    if is_registered:
        found = senders.register(der, f"user:{name}", "internal", replaces=not if_none)
        if found.der != der:
            out.unlink()
        _report("registered" if found.der == der else "kept", found, as_json)
    elif as_json:
        print_json({"sender": f"user:{name}", "file": str(out), **_facts(decode_certificate(der))})
    else:
        click.echo(f"created {out} for user:{name}")


@certificate.command()
@click.argument("file", type=_PEM)
@click.option(
    "--sender",
    metavar="WHO",
    help="Whose certificate it is: user:NAME, or the SID S-1-5-21-... of a Windows account; the"
    " user that the certificate names unless given.",
)
@directory_options
def register(file: Path, *, sender: str | None, directory: Path, as_json: bool) -> None:
    """Register the certificate in FILE (PEM or DER) for a sender, so that its signatures count.

    The trust is in this entry alone: no authority is asked, and none can revoke it. A key in the
    file is not looked at.

    \b
    Examples:
      openmsmq certificate register anna.pem
      openmsmq certificate register anna.cer --sender S-1-5-21-1111111111-2222222222-333333333-1104
    """
    der = _der_of(file.read_bytes())
    if sender is None:
        subject = decode_certificate(der).subject
        if not subject:
            raise click.UsageError("the certificate names no one: say whose it is with --sender.")
        sender = f"user:{subject}"
    _report("registered", SenderCertificates(directory).register(der, sender), as_json)


@certificate.command(name="list")
@directory_options
def list_(*, directory: Path, as_json: bool) -> None:
    """List the registered certificates.

    \b
    Examples:
      openmsmq certificate list
      openmsmq certificate list --json | jq -r .sender
    """
    found = list(SenderCertificates(directory))
    if as_json:
        for one in found:
            print_json(_document(one))
    elif found:
        rows = [
            (
                one.id[:8],
                one.sender,
                one.kind,
                one.decoded.subject,
                time_text(one.decoded.not_after),
            )
            for one in found
        ]
        print_table(["ID", "SENDER", "KIND", "SUBJECT", "VALID UNTIL"], rows)


@certificate.command()
@click.argument("identifier", metavar="ID")
@directory_options
def remove(identifier: str, *, directory: Path, as_json: bool) -> None:
    """Remove a certificate; messages signed with it are refused, those on their way too.

    \b
    Example:
      openmsmq certificate remove 6313167e
    """
    _report("removed", SenderCertificates(directory).remove(identifier), as_json)


def _der_of(data: bytes) -> bytes:
    """The first certificate in a file."""
    if not data.lstrip().startswith(b"-----BEGIN"):
        return decode_certificate(data).der
    from openmsmq.security.certificates import read_certificates

    try:
        return read_certificates(data)[0].der
    except ValueError as error:
        raise InvalidCertificate(str(error)) from None


def _report(what: str, one: RegisteredCertificate, as_json: bool) -> None:
    if as_json:
        print_json(_document(one))
    else:
        click.echo(f"{what} {one.id[:8]} for {one.sender}")


def _document(one: RegisteredCertificate) -> dict[str, Any]:
    head = {"id": one.id, "sender": one.sender, "sid": str(one.sid), "kind": one.kind}
    return {**head, **_facts(one.decoded), "created": time_json(one.created)}


def _facts(found: Certificate) -> dict[str, Any]:
    dates = {"not_before": time_json(found.not_before), "not_after": time_json(found.not_after)}
    return {"subject": found.subject, "bits": found.key.bits if found.key else None, **dates}
