"""`openmsmq topology`: sites, links and routes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from openmsmq.cli.options import ManagerLocation, Refusal, WrongUsage, manager_options
from openmsmq.cli.output import count_text, print_json, print_table
from openmsmq.routing.decision import RoutingRule
from openmsmq.routing.file import TopologyError, read_topology
from openmsmq.routing.findings import findings
from openmsmq.routing.follow import Failures, MessageRoute, RouteFinder
from openmsmq.routing.limits import FILE_SIZE_MAX
from openmsmq.routing.picture import draw
from openmsmq.routing.topology import Topology

if TYPE_CHECKING:
    from openmsmq import Manager

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_from_file = click.option("--file", type=_file, help="Take this file, not what a manager has.")
_svg = click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), help="Also draw it into this file."
)


@click.group()
def topology() -> None:
    """Describe how sites are linked, and see the routes that messages take.

    \b
    Examples:
      openmsmq topology apply enterprise.toml
      openmsmq topology show
      openmsmq topology route branch hq
    """


@topology.command()
@click.argument("file", type=_file)
@manager_options
def apply(file: Path, *, location: ManagerLocation, as_json: bool) -> None:
    """Apply the sites, links and managers of a TOML file; messages are routed by them from now on.

    All managers get the same file. A wrong file changes nothing: exit code 2 names the line and the
    reason. An empty file ends routing.

    \b
    A file, with all keys; with the first line an editor checks it (openmsmq assets):
      #:schema topology.schema.json
      [routing]
      direct = "auto"             # or never: connect where no gate guards a site
      bridge = false              # a router may stand in for a direct connection
      [[sites]]
      name = "hq"
      id = "6b1f3c3e-8d0b-4f7e-9f43-0c5b1d7e2a10"  # else one that follows from the name
      foreign = false             # true where another system is, behind a connector
      [[sites]]
      name = "branch"
      [[links]]
      site1 = "hq"
      site2 = "branch"
      cost = 10                   # 1 to 999999
      gates = ["hq-gate"]         # which routers pass messages between these sites
      [[managers]]
      name = "hq-gate"
      id = "2f9c41d7-6a0e-4b58-9d13-7c5e8fa02b64"  # as openmsmq doctor shows it
      sites = ["hq"]
      router = true               # it passes on messages of others
      address = "10.0.0.1:1801"   # else its name
      [[managers]]
      name = "till"
      id = "9a1d6f02-1c5e-4e53-8b8a-3f0d2c4b6e77"
      sites = ["branch"]
      out = []                    # all that it sends goes by these routers
      in = []                     # all that it gets comes by these
      foreign = false

    \b
    Examples:
      openmsmq topology apply enterprise.toml
      openmsmq topology apply enterprise.toml --manager shop01
    """
    text, found = _read(file)
    with location.open(create=True) as manager:
        manager.configure(topology=text)
    problems = findings(found)
    if as_json:
        print_json({**_counts(found), "findings": problems})
        return
    click.echo(f"applied: {_summary(found)}")
    _warn(problems)


@topology.command()
@_from_file
@_svg
@manager_options
def show(file: Path | None, svg: Path | None, *, location: ManagerLocation, as_json: bool) -> None:
    """Show sites, links, gates and managers, and what is wrong with them.

    A service shows what it routes by now, from a file or its directory, and whom it cannot reach.

    \b
    Examples:
      openmsmq topology show
      openmsmq topology show --file enterprise.toml --svg enterprise.svg
    """
    plan = _load(file, location)
    found = plan.topology
    _draw(svg, draw(found))
    if as_json:
        print_json(_document(plan))
        return
    name = {site.id: site.name for site in found.sites.values()}
    print_table(
        ("LINK", "COST", "GATES"),
        [
            (
                f"{name[link.site1]} - {name[link.site2]}",
                f"{link.cost:,}",
                ", ".join(map(found.name_of, link.gates)),
            )
            for link in found.valid_links
        ],
    )
    click.echo()
    print_table(
        ("MANAGER", "SITES", "ROLE", "BY WAY OF", "ADDRESS"),
        [
            (
                manager.name,
                ", ".join(name[site] for site in manager.sites),
                _role(found, manager.id),
                _servers(found, manager.id),
                manager.address or manager.name,
            )
            for manager in found.managers.values()
        ],
    )
    _warn(plan.findings)
    _warn(plan.failing)


@topology.command()
@click.argument("source", metavar="FROM")
@click.argument("destination", metavar="TO")
@click.option("--down", multiple=True, metavar="MANAGER", help="As if this manager were off.")
@click.option("--cut", multiple=True, metavar="SITE,SITE", help="As if this link were dead.")
@_from_file
@_svg
@manager_options
def route(
    source: str,
    destination: str,
    down: tuple[str, ...],
    cut: tuple[str, ...],
    file: Path | None,
    svg: Path | None,
    *,
    location: ManagerLocation,
    as_json: bool,
) -> None:
    """Show the route of a message from one manager to another, with the rule behind each hop.

    Exit code 1 says that it would wait on the way.

    \b
    Examples:
      openmsmq topology route till hq-gate
      openmsmq topology route till hq-gate --cut branch,hq
    """
    plan = _load(file, location)
    found = plan.topology
    managers = {manager.name.casefold(): manager.id for manager in found.managers.values()}
    sites = {site.name.casefold(): site.id for site in found.sites.values()}
    ends = [_find("manager", name, managers) for name in (source, destination)]
    pairs = {frozenset(_find("site", name.strip(), sites) for name in _pair(pair)) for pair in cut}
    failures = Failures({_find("manager", name, managers) for name in down}, pairs)
    way = RouteFinder(found).follow(ends[0], ends[1], failures)
    _draw(svg, draw(found, way.path, failures.down, failures.cut))
    if as_json:
        print_json(_route_document(found, way))
    else:
        print_table(("AT", "RULE", "NEXT, BEST FIRST"), [_step(found, step) for step in way.steps])
        names = " -> ".join(map(found.name_of, way.path))
        click.echo(f"{way.result}: {names}; {count_text(way.hop_count, 'router')} on the way")
        _warn(plan.failing)
    if way.result not in ("delivered", "connector queue"):
        raise click.exceptions.Exit(1)


def _read(file: Path) -> tuple[str, Topology]:
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(FILE_SIZE_MAX + 1)
        return text, read_topology(text)
    except (TopologyError, UnicodeDecodeError) as error:
        reason = error.detail if isinstance(error, TopologyError) else str(error)
        raise WrongUsage(f"{file}: {reason}") from None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What messages are routed by, and what stands against it."""

    topology: Topology
    source: str
    "`file` or `directory`."
    findings: list[str]
    "What is wrong with it."
    failing: list[str]
    "Hops that the manager cannot connect to now, and why."


def _load(file: Path | None, location: ManagerLocation) -> _Plan:
    if file is not None:
        found = _read(file)[1]
        return _Plan(found, "file", findings(found), [])
    with location.open() as manager:
        plan = _applied(manager) if location.is_embedded else _in_use(manager)
    if not plan.topology.sites:
        raise Refusal(
            "this manager has no topology; openmsmq topology apply FILE gives it one, or a"
            " directory (openmsmq serve --directory) once it has answered"
        )
    return plan


def _applied(manager: Manager) -> _Plan:
    """The file that was applied to a manager without a service: it has no directory."""
    found = read_topology(manager.settings().topology)
    return _Plan(found, "file", findings(found), [])


def _in_use(manager: Manager) -> _Plan:
    """What a service routes by now, be it from a file or from its directory."""
    info = manager.control.topology()
    failing = [
        f"{one.next_hop} cannot be reached: {one.last_error or 'no connection'};"
        f" {count_text(one.messages)} for {one.name} waiting"
        for one in manager.outgoing()
        if one.failures
    ]
    return _Plan(info.topology(), info.source, list(info.findings), failing)


def _draw(svg: Path | None, picture: str) -> None:
    if svg is not None:
        svg.write_text(picture, encoding="utf-8")


def _find(what: str, name: str, known: dict[str, UUID]) -> UUID:
    if name.casefold() not in known:
        raise WrongUsage(f"there is no {what} {name}; there are {', '.join(list(known)[:20])}")
    return known[name.casefold()]


def _pair(text: str) -> list[str]:
    names = text.split(",")
    if len(names) != 2:
        raise WrongUsage(f"--cut {text}: two sites are needed, such as --cut branch,hq")
    return names


def _counts(found: Topology) -> dict[str, Any]:
    return {
        "sites": len(found.sites),
        "links": len(found.valid_links),
        "managers": len(found.managers),
    }


def _summary(found: Topology) -> str:
    return ", ".join(count_text(count, name[:-1]) for name, count in _counts(found).items())


def _warn(problems: list[str]) -> None:
    for problem in problems:
        click.echo(f"note: {problem}", err=True)


def _role(found: Topology, manager: UUID) -> str:
    known = found.managers[manager]
    if known.foreign:
        return "foreign"
    return "gate" if found.is_gate(manager) else "router" if known.router else ""


def _servers(found: Topology, manager: UUID) -> str:
    known = found.managers[manager]
    words = [f"out {found.name_of(server)}" for server in known.out_servers]
    return ", ".join(words + [f"in {found.name_of(server)}" for server in known.in_servers])


def _step(found: Topology, step: tuple[UUID, RoutingRule, tuple[UUID, ...]]) -> tuple[str, ...]:
    manager, rule, hops = step
    return found.name_of(manager), rule, ", ".join(map(found.name_of, hops))


def _document(plan: _Plan) -> dict[str, Any]:
    found = plan.topology
    name = {site.id: site.name for site in found.sites.values()}
    return {
        "source": plan.source,
        "sites": [
            {
                "name": site.name,
                "id": str(site.id),
                "foreign": site.foreign,
                "gates": list(map(found.name_of, found.gates[site.id])),
            }
            for site in found.sites.values()
        ],
        "links": [
            {
                "site1": name[link.site1],
                "site2": name[link.site2],
                "cost": link.cost,
                "gates": list(map(found.name_of, link.gates)),
            }
            for link in found.valid_links
        ],
        "managers": [
            {
                "name": manager.name,
                "id": str(manager.id),
                "sites": [name[site] for site in manager.sites],
                "role": _role(found, manager.id) or "client",
                "address": manager.address or manager.name,
            }
            for manager in found.managers.values()
        ],
        "findings": plan.findings,
        "failing": plan.failing,
    }


def _route_document(found: Topology, way: MessageRoute) -> dict[str, Any]:
    return {
        "result": str(way.result),
        "path": list(map(found.name_of, way.path)),
        "routers": way.hop_count,
        "steps": [
            {
                "at": found.name_of(step.manager),
                "rule": str(step.rule),
                "hops": list(map(found.name_of, step.hops)),
            }
            for step in way.steps
        ],
    }
