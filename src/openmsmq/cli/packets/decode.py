"""`openmsmq decode`: any MSMQ packet, field by field."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from os.path import isfile
from pathlib import Path
from typing import BinaryIO, Final

import click
from rich.text import Text

from openmsmq.capture.capture import SECOND, is_capture, read_frames
from openmsmq.capture.packets import CapturedPacket, captured_packets
from openmsmq.capture.pcap import Endpoint
from openmsmq.cli.output import console, print_json, time_json
from openmsmq.cli.packets.view import packet_json, print_packet
from openmsmq.errors import Malformed
from openmsmq.packet.describe import Description, describe
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.probe import SignatureVerdict, judge

HEX_SEPARATORS: Final = str.maketrans("", "", " \t\r\n,:-")
CHUNK: Final = 1 << 20
"Bytes of a capture that are read at a time."
LAST_SECOND: Final = 253_402_300_799
"The end of the year 9999, the last that can be shown."


@click.command()
@click.argument("words", metavar="HEX|FILE|-", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per packet.")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(1, 0xFFFF),
    help="Of a capture, only what went to or from this port.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Check signatures, with the certificates in the packets, and say how they were made.",
)
def decode(words: tuple[str, ...], *, as_json: bool, port: int | None, verify: bool) -> None:
    """Explain every MSMQ packet in the input, field by field.

    The input is hexadecimal digits, a file, or standard input (-). A file or standard input may
    hold hexadecimal digits or raw bytes: one packet, a recorded TCP stream (port 1801), a UDP ping
    datagram, or messages as a store or remote read keeps them. It may also be a capture (pcap or
    pcapng) by openmsmq serve --record, tcpdump or Wireshark: then every packet is shown with its
    time, sender and receiver. Without --port these are the packets of the ports 1801 and 3527, and
    whatever else begins as MSMQ does.

    Reading ends with a malformed packet; of a capture the other packets are shown all the same, as
    far as they can be told apart.

    Exits with 1 if a packet is malformed, saying which field is at fault and where, after showing
    what was readable before it; with --verify also if a signature is not right.

    \b
    Examples:
      openmsmq decode 01 7d 48 55 04 00 00 00 d1 58 73 55 50 91 95 95 49 97 b6 e6 11 ea 26 c6
      openmsmq decode session.pcap
      openmsmq decode --json capture.pcapng | jq -r '[.time, .from, .to, .kind] | @tsv'
      xxd -p packet.bin | openmsmq decode --json - | jq .kind
      openmsmq decode --verify session.pcap
    """
    show = PacketPrinter(as_json=as_json, verify=verify)
    if not _show(_load(" ".join(words)), show, port=port):
        sys.exit(1)


def _load(source: str) -> Iterator[bytes]:
    """The bytes that the argument means, in chunks."""
    if source == "-":
        return _chunks(sys.stdin.buffer, "standard input")
    if isfile(source):  # unlike Path.is_file, no error for more digits than a name may have
        try:
            return _chunks(Path(source).open("rb"), source)
        except OSError as error:
            raise _unreadable(source, error) from None
    data = _from_hex(source)
    if data is None:
        raise click.UsageError(f"{source[:60]!r} is neither a file nor hexadecimal digits")
    return iter([data])


def _chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    with stream:
        while True:
            try:
                chunk = stream.read(CHUNK)
            except OSError as error:
                raise _unreadable(name, error) from None
            if not chunk:
                return
            yield chunk


def _unreadable(name: str, error: OSError) -> click.UsageError:
    return click.UsageError(f"{name} cannot be read: {error.strerror}")


def _show(chunks: Iterator[bytes], show: PacketPrinter, *, port: int | None) -> bool:
    """Show what the input holds; whether all of it was sound."""
    start = next(chunks, b"")
    if is_capture(start):
        return _show_capture(chain([start], chunks), show, port=port)
    return _show_packets(_from_hex_or_raw(start + b"".join(chunks)), show)


def _from_hex_or_raw(data: bytes) -> bytes:
    digits = _from_hex(data.decode("ascii")) if data.isascii() else None
    return data if digits is None else digits


def _from_hex(text: str) -> bytes | None:
    """Bytes from hexadecimal digits with any separators; None if `text` is something else."""
    try:
        return bytes.fromhex(text.removeprefix("0x").translate(HEX_SEPARATORS))
    except ValueError:
        return None


def _show_packets(data: bytes, show: PacketPrinter) -> bool:
    """Show one packet after the other."""
    if not data:
        raise click.UsageError("the input is empty")
    sound = True
    for description in describe(data):
        sound &= show.print(description)
        sound &= _is_sound(description)
    return sound


def _show_capture(chunks: Iterable[bytes], show: PacketPrinter, *, port: int | None) -> bool:
    """Show the packets of a capture; say so if there are none."""
    sound, found = True, False
    try:
        for packet in captured_packets(read_frames(chunks), port):
            found = True
            sound &= show.print(packet.description, packet)
            sound &= _is_sound(packet.description, f" from {_shown(packet.source)}")
    except Malformed as error:
        _complain(f"bad capture: {error}")
        sound = False
    if not found:
        _complain("there is no MSMQ packet in the capture")
    return sound


class PacketPrinter:
    """Prints packets, for people or for programs, with a verdict on their signatures if asked."""

    def __init__(self, *, as_json: bool, verify: bool) -> None:
        self._as_json = as_json
        self._verify = verify

    def print(self, description: Description, captured: CapturedPacket | None = None) -> bool:
        """Print one; False if its signature is not right, where that is asked."""
        verdict = _verdict(description) if self._verify else None
        if self._as_json:
            found = {} if captured is None else _captured_json(captured)
            more = {} if verdict is None else {"verdict": asdict(verdict)}
            print_json({**found, **packet_json(description), **more})
        else:
            if captured is not None:
                _print_captured(captured)
            print_packet(description)
            if verdict is not None:
                console().print(Text(verdict.words, style="green" if verdict.is_right else "red"))
        return verdict is None or verdict.is_right


def _verdict(description: Description) -> SignatureVerdict | None:
    """The verdict on the signature of a packet, if it is a message that is signed."""
    try:
        found = decode_packet(description.data)
    except Malformed:
        return None
    return judge(found) if isinstance(found, UserMessage) else None


def _captured_json(packet: CapturedPacket) -> dict[str, object]:
    return {
        "time": _time(packet),
        "conversation": packet.conversation,
        "protocol": packet.protocol,
        "from": _shown(packet.source),
        "to": _shown(packet.target),
    }


def _print_captured(packet: CapturedPacket) -> None:
    ends = f"{_shown(packet.source)} → {_shown(packet.target)}"
    line = f"{_time(packet)} #{packet.conversation} {packet.protocol} {ends}"
    console().print(Text(line, style="bold magenta"))


def _time(packet: CapturedPacket) -> str:
    """When a packet came, to the microsecond."""
    seconds, fraction = divmod(packet.time, SECOND)
    whole = time_json(min(seconds, LAST_SECOND)).removesuffix("Z")
    return f"{whole}.{fraction // 1000:06d}Z"


def _shown(endpoint: Endpoint) -> str:
    address, port = endpoint
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _is_sound(description: Description, where: str = "") -> bool:
    error = description.error
    if error is None:
        return True
    place = description.offset + error.offset
    _complain(f"malformed: {error.field} at offset {place}{where}: {error.reason}")
    return False


def _complain(words: str) -> None:
    click.echo(f"openmsmq: {words}", err=True)
