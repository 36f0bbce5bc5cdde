"""`openmsmq decode`: any MSMQ packet, field by field."""

from __future__ import annotations

import json
import sys
from os.path import isfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from openmsmq.cli.meaning import Meanings
from openmsmq.packet.describe import Description, describe
from openmsmq.wire.trace import Field

HEX_SEPARATORS = str.maketrans("", "", " \t\r\n,:-")
BYTES_SHOWN = 32
UNWRAPPED = 10_000
CAPTURES = {
    b"\xd4\xc3\xb2\xa1": "pcap",
    b"\xa1\xb2\xc3\xd4": "pcap",
    b"\x0a\x0d\x0d\x0a": "pcapng",
}


@click.command()
@click.argument("words", metavar="HEX|FILE|-", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per packet.")
def decode(words: tuple[str, ...], *, as_json: bool) -> None:
    """Explain every MSMQ packet in the input, field by field.

    The input is hexadecimal digits, a file, or standard input (-). A file or standard input may
    hold hexadecimal digits or raw bytes: one packet, a recorded TCP stream (port 1801), a UDP ping
    datagram, or messages as a store or remote read keeps them.

    Exits with 1 at the first malformed packet, saying which field is at fault and where, after
    showing what was readable before it.

    \b
    Examples:
      openmsmq decode 01 7d 48 55 04 00 00 00 d1 58 73 55 50 91 95 95 49 97 b6 e6 11 ea 26 c6
      openmsmq decode session.bin
      xxd -p packet.bin | openmsmq decode --json - | jq .kind
    """
    data = _load(" ".join(words))
    if not data:
        raise click.UsageError("the input is empty")
    show = _show_json if as_json else _show_tree
    for description in describe(data):
        show(description)
        if description.error is not None:
            where = description.offset + description.error.offset
            click.echo(
                f"openmsmq: malformed: {description.error.field} at offset {where}: "
                f"{description.error.reason}",
                err=True,
            )
            sys.exit(1)


def _load(source: str) -> bytes:
    """The bytes that the argument means."""
    if source == "-":
        return _from_hex_or_raw(sys.stdin.buffer.read())
    if isfile(source):  # unlike Path.is_file, no error for more digits than a name may have
        try:
            return _from_hex_or_raw(Path(source).read_bytes())
        except OSError as error:
            raise click.UsageError(f"{source} cannot be read: {error.strerror}") from None
    data = _from_hex(source)
    if data is None:
        raise click.UsageError(f"{source[:60]!r} is neither a file nor hexadecimal digits")
    return data


def _from_hex_or_raw(data: bytes) -> bytes:
    if kind := CAPTURES.get(data[:4]):
        raise click.UsageError(
            f"this is a {kind} capture; save the TCP stream as raw bytes first, for example with"
            " tshark -r FILE -q -z follow,tcp,raw,0"
        )
    digits = _from_hex(data.decode("ascii")) if data.isascii() else None
    return data if digits is None else digits


def _from_hex(text: str) -> bytes | None:
    """Bytes from hexadecimal digits with any separators; None if `text` is something else."""
    try:
        return bytes.fromhex(text.removeprefix("0x").translate(HEX_SEPARATORS))
    except ValueError:
        return None


def _show_json(description: Description) -> None:
    meanings = Meanings(description)
    document: dict[str, Any] = {
        "kind": description.kind,
        "offset": description.offset,
        "size": len(description.data),
        "fields": [_field_json(field, meanings) for field in description.fields],
    }
    if description.error is not None:
        document["error"] = {
            "field": description.error.field,
            "offset": description.error.offset,
            "reason": description.error.reason,
        }
    click.echo(json.dumps(document))


def _field_json(field: Field, meanings: Meanings) -> dict[str, Any]:
    """The shape of the project's test vectors, and what the value means."""
    document: dict[str, Any] = {
        "path": field.path,
        "offset": field.offset,
        "size": field.size,
        "type": field.kind,
        "value": field.value,
    }
    if isinstance(field.value, int):
        document["value_hex"] = f"0x{field.value & (1 << 8 * field.size) - 1:0{2 * field.size}X}"
        if field.bits is not None:
            document["bits"] = [
                {"name": name, "shift": shift, "width": width, "value": value}
                for (name, shift, width), value in zip(
                    field.bits.GROUPS, field.bits.split(field.value).values(), strict=True
                )
            ]
    if meaning := meanings.of(field):
        document["meaning"] = meaning
    return document


def _show_tree(description: Description) -> None:
    meanings = Meanings(description)
    title = Text.assemble(
        (description.kind, "bold"),
        f", {len(description.data)} bytes at offset {description.offset}",
    )
    root = Tree(title, guide_style="dim")
    branches: dict[str, Tree] = {"": root}
    for field in description.fields:
        parent, _, name = field.path.rpartition(".")
        _branch(branches, parent).add(_line(field, name, meanings))
    if description.error is not None:
        root.add(Text(f"✗ {description.error}", style="bold red"))
    # A line is wrapped for a person and left whole for a program.
    width = None if sys.stdout.isatty() else UNWRAPPED
    Console(highlight=False, width=width).print(root)


def _branch(branches: dict[str, Tree], path: str) -> Tree:
    """The node for a structure, made when its first field comes."""
    if path not in branches:
        parent, _, name = path.rpartition(".")
        branches[path] = _branch(branches, parent).add(Text(name, style="bold cyan"))
    return branches[path]


def _line(field: Field, name: str, meanings: Meanings) -> Text:
    line = Text.assemble((f"{field.offset:5d} ", "dim"), name, " ", (_value(field), "green"))
    if meaning := meanings.of(field):
        line.append(f"  {meaning}", style="yellow")
    return line


def _value(field: Field) -> str:
    match field.kind:
        case "utf16z":
            return json.dumps(field.value)
        case "bytes":
            digits = str(field.value)
            if field.size > BYTES_SHOWN:
                return f"{digits[: 2 * BYTES_SHOWN]}… ({field.size} bytes)"
            return digits
        case "guid":
            return str(field.value)
        case _:
            assert isinstance(field.value, int)
            return f"{field.value} (0x{field.value:X})" if field.value > 9 else str(field.value)
