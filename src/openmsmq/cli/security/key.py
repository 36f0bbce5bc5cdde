"""`openmsmq key`: keys for encrypted messages, of this manager and of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from openmsmq.access.exchange_keys import (
    KEY_SIZES,
    LEVELS,
    OwnKey,
    OwnKeys,
    PeerKeyFile,
    PeerPublicKeys,
)
from openmsmq.cli.options import directory_options
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.errors import InvalidParameter

_WORTH = (
    "aes: sound; enhanced (RC4, RC2) and base (40 bits) are for Windows up to Server 2003 and"
    " protect little or nothing."
)


@click.group()
def key() -> None:
    """Manage the keys that encrypt message bodies between managers.

    A manager makes a key and exports its public part; those that send to it import that. A
    service uses changes within seconds. keys.json in the directory holds the private keys: who
    reads it can read the messages.

    \b
    Examples:
      openmsmq key create
      openmsmq key export --id 5b1d9c3e-... --name there > there.keys
      openmsmq key import there.keys          (on the computer that sends)
      openmsmq message send "DIRECT=OS:there\\private$\\orders" --encrypt --body "<order/>"
    """


@key.command()
@click.option("--kind", type=click.Choice(list(LEVELS)), default="aes", help=_WORTH)
@click.option(
    "--bits",
    type=click.Choice([str(size) for size in KEY_SIZES]),
    default="2048",
    help="1024 is what the specification says, and weak.",
)
@directory_options
def create(*, kind: str, bits: str, directory: Path, as_json: bool) -> None:
    """Create a key; the previous one still decrypts for five days.

    Do so now and then, and export it again.

    \b
    Examples:
      openmsmq key create
      openmsmq key create --bits 4096
    """
    made = OwnKeys(directory).create(kind, int(bits))
    if as_json:
        print_json(_document(made))
    else:
        click.echo(f"created {made.id[:8]} ({made.level}, {bits} bits)")


@key.command(name="list")
@directory_options
def list_(*, directory: Path, as_json: bool) -> None:
    """List the keys of this manager, without their secrets, and those of others.

    \b
    Examples:
      openmsmq key list
      openmsmq key list --json
    """
    own, peers = list(OwnKeys(directory)), list(PeerKeyFile(directory))
    if as_json:
        for document in (*map(_document, own), *map(_peer_document, peers)):
            print_json(document)
        return
    rows: list[tuple[object, ...]] = [
        (one.id[:8], "own", one.level, time_text(one.created), _state(one)) for one in own
    ]
    rows += [
        (one.manager, "peer", one.name, time_text(one.created), f"{len(one.decoded().keys)} keys")
        for one in peers
    ]
    if rows:
        print_table(["ID", "WHOSE", "KIND OR NAME", "CREATED", "STATE"], rows)


@key.command()
@click.option("--id", "identity", required=True, type=click.UUID, help="The GUID of this manager.")
@click.option("--name", default="", help="The computer, as others name it in DIRECT=OS: names.")
@directory_options
def export(*, identity: UUID, name: str, directory: Path, as_json: bool) -> None:
    """Print the public keys of this manager, for others to import.

    Give the file to those who send, by a way on which no one can change it.

    \b
    Example:
      openmsmq key export --id 5b1d9c3e-54f5-4d0a-9c3b-0a1b2c3d4e5f --name there > there.keys
    """
    found = OwnKeys(directory).published()
    if not found.keys:
        raise InvalidParameter("there is no key: openmsmq key create makes one")
    print_json({"manager": str(identity), "name": name, "keys": found.encode().hex()})


@key.command(name="import")
@click.argument("file", type=click.File("r"))
@click.option("--name", help="The computer in DIRECT=OS: names, if it is not the exported one.")
@directory_options
def import_(file: Any, *, name: str | None, directory: Path, as_json: bool) -> None:
    """Import the public keys of another manager; messages for it are encrypted with them.

    \b
    Example:
      openmsmq key import there.keys
    """
    try:
        document = json.load(file)
        manager, keys = UUID(document["manager"]), str(document["keys"])
        named = str(document.get("name", "")) if name is None else name
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidParameter(f"not a file of openmsmq key export: {error}") from None
    _report("imported the keys of", PeerKeyFile(directory).add(manager, named, keys), as_json)


@key.command()
@click.argument("name", metavar="MANAGER")
@directory_options
def forget(name: str, *, directory: Path, as_json: bool) -> None:
    """Remove the keys of another manager, given by its GUID or name.

    \b
    Example:
      openmsmq key forget there
    """
    _report("forgot the keys of", PeerKeyFile(directory).remove(name), as_json)


def _report(what: str, one: PeerPublicKeys, as_json: bool) -> None:
    if as_json:
        print_json(_peer_document(one))
    else:
        click.echo(f"{what} {one.name or one.manager}")


def _state(one: OwnKey) -> str:
    return "in use" if one.retired is None else f"retired {time_text(one.retired)}"


def _document(one: OwnKey) -> dict[str, Any]:
    retired = None if one.retired is None else time_json(one.retired)
    created = time_json(one.created)
    return {"id": one.id, "kind": one.level, "created": created, "retired": retired}


def _peer_document(one: PeerPublicKeys) -> dict[str, Any]:
    return {"manager": one.manager, "name": one.name, "created": time_json(one.created)}
