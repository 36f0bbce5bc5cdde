"""`openmsmq multicast`: try out groups without a queue manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from openmsmq.cli.options import ManagerLocation, json_option, manager_options
from openmsmq.cli.output import print_json, print_table, printable
from openmsmq.errors import IllegalFormatName, MessageTooLarge
from openmsmq.names.format import MulticastName, parse_format_name
from openmsmq.transports.pgm import trial
from openmsmq.transports.pgm.network import MulticastNetwork
from openmsmq.transports.pgm.timers import PgmTiming

_COUNTS = (">PACKETS", ">REPAIRS", ">REQUESTS", ">LOST")


class GroupAddress(click.ParamType[MulticastName]):
    """A group address with a port."""

    name = "address:port"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> MulticastName:
        """The name, from `234.1.1.1:8001`."""
        try:
            name = parse_format_name(f"MULTICAST={value}")
        except IllegalFormatName:
            self.fail(f"{value!r} is no group address with a port, such as 234.1.1.1:8001")
        assert isinstance(name, MulticastName)
        return name


def _network_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--interface",
            metavar="ADDRESS",
            help="The address of the network interface; else what the system chooses.",
        ),
        click.option("--raw", is_flag=True, help="Packets as MSMQ sends them; needs CAP_NET_RAW."),
        click.option(
            "--udp-port", default=3056, show_default=True, help="The port for packets in UDP."
        ),
        click.option("--rate", default=70, show_default=True, help="KiB in a second, at the most."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group()
def multicast() -> None:
    """Send to a group and listen to one, without a queue manager; list sessions of one.

    Queue managers do both with serve --multicast, for queues that have a group address (queue set
    --multicast).

    \b
    Examples:
      openmsmq multicast list
      openmsmq multicast listen 234.1.1.1:8001
      openmsmq multicast send 234.1.1.1:8001 --body '<price of="MSFT">410</price>'
    """


@multicast.command()
@click.argument("group", type=GroupAddress())
@click.option("--body", required=True, help="The text of the message.")
@click.option("--label", default="", help="Its label; {n} is its number.")
@click.option("--count", default=1, show_default=True, help="How many to send.")
@click.option(
    "--linger",
    default=2.0,
    show_default=True,
    help="Seconds for which what listeners missed is sent again.",
)
@_network_options
@json_option
def send(
    group: MulticastName,
    *,
    body: str,
    label: str,
    count: int,
    linger: float,
    interface: str | None,
    raw: bool,
    udp_port: int,
    rate: int,
    as_json: bool,
) -> None:
    """Send messages to a group, and repeat what listeners missed.

    \b
    Examples:
      openmsmq multicast send 234.1.1.1:8001 --body hello --label greeting
      openmsmq multicast send 234.1.1.1:8001 --body tick --label 'tick {n}' --count 1000
    """
    timing = PgmTiming(rate=rate * 1024, linger_s=linger)
    texts = [(label.replace("{n}", str(number)), body) for number in range(1, count + 1)]
    try:
        messages = trial.pack_texts(group, texts)
    except MessageTooLarge as error:
        raise click.ClickException(f"the message is too large: {error}") from None
    network = _open(interface, raw=raw, udp_port=udp_port)
    counts = asyncio.run(trial.send(network, group, messages, timing))
    if as_json:
        print_json({"group": f"{group.address}:{group.port}", "messages": count, **counts})
    else:
        click.echo(
            f"sent {count} to {group.address}:{group.port}: {counts['packets']} packets,"
            f" {counts['repairs']} repeated"
        )


@multicast.command()
@click.argument("group", type=GroupAddress())
@click.option("--count", type=int, help="Stop after that many messages.")
@click.option("--timeout", type=float, help="Stop after that many seconds.")
@_network_options
@json_option
def listen(
    group: MulticastName,
    *,
    count: int | None,
    timeout: float | None,
    interface: str | None,
    raw: bool,
    udp_port: int,
    rate: int,
    as_json: bool,
) -> None:
    """Print messages that are sent to a group, until it is interrupted.

    \b
    Examples:
      openmsmq multicast listen 234.1.1.1:8001
      openmsmq multicast listen 234.1.1.1:8001 --count 10 --json
    """
    shown = 0

    def show(found: trial.TrialMessage) -> bool:
        nonlocal shown
        shown += 1
        _show(found, as_json=as_json)
        return count is not None and shown >= count

    network = _open(interface, raw=raw, udp_port=udp_port)
    timing = PgmTiming(rate=rate * 1024)
    try:
        lost = asyncio.run(trial.listen(network, group, timing, show, timeout))
    except KeyboardInterrupt:
        lost = 0
    if lost:
        click.echo(f"{lost} packets were lost for good", err=True)
    if count is not None and shown < count:
        raise click.ClickException(f"{shown} of {count} messages came in {timeout} s")


@multicast.command(name="list")
@manager_options
def list_(*, location: ManagerLocation, as_json: bool) -> None:
    """List the sessions of a queue manager: what it sends to groups, and the sources it hears.

    REPAIRS are packets that were sent again, REQUESTS asked for them, LOST will never come.

    \b
    Examples:
      openmsmq multicast list
      openmsmq multicast list --json | jq 'select(.lost > 0)'
    """
    with location.open() as manager:
        found = manager.multicast()
    if as_json:
        for info in found:
            print_json(asdict(info))
        return
    print_table(
        ("DIRECTION", "GROUP", "SOURCE", "SESSION", "STATE", *_COUNTS),
        (list(asdict(info).values()) for info in found),
    )


def _open(interface: str | None, *, raw: bool, udp_port: int) -> MulticastNetwork:
    try:
        return trial.open_network(interface, raw=raw, udp_port=udp_port)
    except PermissionError:
        raise click.ClickException("--raw needs CAP_NET_RAW; else packets go by UDP") from None
    except (OSError, ValueError) as error:
        raise click.ClickException(f"interface {interface}: {error}") from None


def _show(found: trial.TrialMessage, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "source": str(found.source),
                "session": found.session,
                "number": found.number,
                "label": found.label,
                "body": found.body.hex(),
                "error": found.error or None,
            }
        )
        return
    what = f"no message: {found.error}" if found.error else found.label
    click.echo(f"{found.source}  {printable(what)}  {len(found.body)} bytes")
