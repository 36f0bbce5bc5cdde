"""What each role decides."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.enterprise import Enterprise, numbered

from openmsmq.routing import decision
from openmsmq.routing.decision import NextHops, Routes, RoutingRule, Way
from openmsmq.routing.file import read_topology
from openmsmq.routing.topology import RoutedManager, Topology

DEAD_END = """
sites = [{name = "here"}, {name = "dead"}, {name = "far"}, {name = "there"}]
links = [
    {site1 = "here", site2 = "dead", cost = 1, gates = ["gate"]},
    {site1 = "here", site2 = "far", cost = 1, gates = ["gate", "other"]},
    {site1 = "dead", site2 = "there", cost = 1, gates = ["goal"]},
    {site1 = "far", site2 = "there", cost = 1, gates = ["goal"]},
]
managers = [
    {name = "gate", id = "00000000-0000-0001-0000-000000000001", sites = ["here"], router = true},
    {name = "stuck", id = "00000000-0000-0002-0000-000000000001", sites = ["dead"], router = true},
    {name = "other", id = "00000000-0000-0003-0000-000000000001", sites = ["far"], router = true},
    {name = "goal", id = "00000000-0000-0004-0000-000000000001", sites = ["there"], router = true},
]
"""
"No router of `dead` is a gate of its links."


def ask(enterprise: Enterprise, source: str, goal: str) -> tuple[RoutingRule, list[str]]:
    """What a manager decides about another."""
    found = Routes(enterprise.topology, enterprise.id(source)).next_hops(enterprise.id(goal))
    return found.rule, enterprise.words(found.hops)


def changed(enterprise: Enterprise, name: str, **changes: object) -> Enterprise:
    """The same with another manager of that name."""
    managers = dict(enterprise.topology.managers)
    guid = enterprise.id(name)
    managers[guid] = replace(managers[guid], **changes)  # type: ignore[arg-type] # by name
    enterprise.topology = replace(enterprise.topology, managers=managers)
    return enterprise


def test_what_is_not_in_the_topology_is_not_routed() -> None:
    """MQBR-044, MQBR-045."""
    enterprise = Enterprise.of("05")
    lost = numbered(2, 99)
    routes = Routes(enterprise.topology, enterprise.id("W-app"))
    assert routes.next_hops(lost) == NextHops(RoutingRule.UNKNOWN)
    assert Routes(enterprise.topology, lost).next_hops(enterprise.id("W-app")).hops == ()


def test_what_is_for_this_manager_stays_here() -> None:
    """MQBR-046."""
    assert ask(Enterprise.of("05"), "W-app", "W-app") == (RoutingRule.LOCAL, [])


def test_out_routing_servers_come_before_everything_for_a_client() -> None:
    """MQBR-050, MQBR-051."""
    assert ask(Enterprise.of("04"), "C2", "C1") == (RoutingRule.OUT_SERVER, ["RS1", "RS2"])


def test_servers_that_do_not_route_are_passed_over() -> None:
    """MQBR-052, MQBR-094."""
    enterprise = Enterprise.of("04")
    lost, client = numbered(2, 99), enterprise.id("C3")
    servers = (lost, client, enterprise.id("RS2"))
    assert ask(changed(enterprise, "C2", out_servers=servers), "C2", "C1")[1] == ["RS2"]
    assert ask(changed(enterprise, "C2", out_servers=(lost,)), "C2", "C1")[0] == RoutingRule.DIRECT


def test_in_routing_servers_are_used_by_others_and_not_by_themselves() -> None:
    """MQBR-054, MQBR-061, MQBR-062, MQBR-069."""
    enterprise = Enterprise.of("04")
    assert ask(enterprise, "C1", "C3") == (RoutingRule.IN_SERVER, ["RS2", "RS1"])
    assert ask(enterprise, "RS1", "C3") == (RoutingRule.DIRECT, ["C3"])
    far = Enterprise.of("05")
    changed(far, "E-app", in_servers=(far.id("W-gate1"),))
    assert ask(far, "W-gate1", "E-app") == (RoutingRule.DIRECT, ["E-app"])


def test_a_client_uses_all_routers_of_its_site_in_an_order_of_its_own() -> None:
    """MQBR-055, MQBR-056."""
    enterprise = Enterprise.of("05")
    rule, hops = ask(enterprise, "W-app", "E-app")
    assert (rule, sorted(hops)) == (RoutingRule.SITE_ROUTER, ["W-gate1", "W-gate2", "W-rs"])
    firsts = set()
    for number in range(20, 26):
        guid = numbered(2, number)
        client = RoutedManager(guid, "new", (enterprise.id("west"),))
        managers = {**enterprise.topology.managers, guid: client}
        routes = Routes(replace(enterprise.topology, managers=managers), guid)
        assert routes.next_hops(enterprise.id("E-app")) == routes.next_hops(enterprise.id("E-app"))
        firsts.add(routes.next_hops(enterprise.id("E-app")).hops[0])
    assert len(firsts) == 3


def test_without_routers_and_gates_the_destination_is_connected_to() -> None:
    """MQBR-057, MQBR-066."""
    enterprise = Enterprise.of("09")
    found = [ask(enterprise, "A1", name) for name in enterprise.managers if name != "A1"]
    assert RoutingRule.UNGUARDED in {rule for rule, _ in found}
    changed(enterprise, "A1", router=True)
    found = [ask(enterprise, "A1", name) for name in enterprise.managers if name != "A1"]
    assert RoutingRule.UNGUARDED in {rule for rule, _ in found}


def test_gates_guard_their_site() -> None:
    """MQBR-058, MQBR-076, MQBR-077."""
    enterprise = Enterprise.of("06")
    found = [
        row
        for row in enterprise.document["next_hops"]
        if row["rule"] == "no route" and not row["hops"]
    ]
    assert found
    for row in found:
        assert ask(enterprise, row["from"], row["to"]) == (RoutingRule.NO_ROUTE, [])


def test_direct_connections_can_be_forbidden() -> None:
    """MQBR-059."""
    enterprise = Enterprise.of("09")
    enterprise.topology = replace(enterprise.topology, direct=False)
    assert ask(enterprise, "A1", "B1") == (RoutingRule.NO_ROUTE, [])


def test_a_router_that_is_no_gate_uses_the_gates_of_its_site_and_not_its_own_out_servers() -> None:
    """MQBR-064, MQBR-065, MQBR-067."""
    enterprise = changed(Enterprise.of("05"), "W-rs", out_servers=(numbered(2, 5),))
    rule, hops = ask(enterprise, "W-rs", "E-app")
    assert (rule, sorted(hops)) == (RoutingRule.SITE_GATE, ["W-gate1", "W-gate2"])


def test_a_gate_goes_by_its_table_and_the_gates_of_the_link_come_first() -> None:
    """MQBR-068, MQBR-071, MQBR-073, MQBR-075."""
    enterprise = Enterprise.of("05")
    assert ask(enterprise, "W-gate2", "E-app") == (RoutingRule.NEXT_GATE, ["M-gate", "E-gate"])
    assert ask(enterprise, "E-gate", "W-app") == (
        RoutingRule.NEXT_GATE,
        ["M-gate", "W-gate2", "W-gate1"],
    )


def test_a_next_site_without_gates_is_entered_by_its_routers_or_the_destination() -> None:
    """MQBR-074."""
    enterprise = Enterprise.of("05")
    links = tuple(
        replace(link, gates=tuple(gate for gate in link.gates if gate != enterprise.id("E-gate")))
        for link in enterprise.topology.links
    )
    enterprise.topology = replace(enterprise.topology, links=links)
    assert ask(enterprise, "M-gate", "E-app") == (RoutingRule.NEXT_GATE, ["E-app"])
    assert ask(enterprise, "M-gate", "E-mob") == (RoutingRule.NEXT_GATE, ["E-rs"])


def test_a_site_that_messages_cannot_leave_is_not_entered_on_the_way() -> None:
    """RT-05: its router would keep them for ever, though another way is as good."""
    topology = read_topology(DEAD_END)
    ids = {manager.name: manager.id for manager in topology.managers.values()}
    routes = Routes(topology, ids["gate"])
    assert routes.next_hops(ids["goal"]).hops == (ids["other"],)
    assert routes.next_hops(ids["stuck"]).hops == (ids["stuck"],)
    unguarded = read_topology(DEAD_END.replace('gates = ["goal"]', "gates = []"))
    hops = Routes(unguarded, ids["gate"]).next_hops(ids["goal"]).hops
    assert set(hops) == {ids["stuck"], ids["other"]}, "a router may connect to it"


def test_the_nearest_site_of_a_destination_counts() -> None:
    """MQBR-072."""
    enterprise = Enterprise.of("05")
    changed(enterprise, "E-app", sites=(enterprise.id("east"), enterprise.id("mid")))
    assert ask(enterprise, "W-gate1", "E-app")[1][0] == "M-gate"
    far = Enterprise.of("05")
    changed(far, "E-app", sites=(far.id("east"),))
    assert [way.total for way in _ways(far)] == [9, 20]
    assert [way.total for way in _ways(enterprise)] == [4, 20]


def _ways(enterprise: Enterprise) -> list[Way]:
    routes = Routes(enterprise.topology, enterprise.id("W-gate1"))
    return routes.ways(enterprise.topology.managers[enterprise.id("E-app")])


def test_what_came_from_a_site_as_far_goes_to_none_that_is_as_far() -> None:
    """MQBR-084."""
    branch = Enterprise.of("03")
    routes = Routes(branch.topology, branch.id("R2"))
    goal, before = branch.id("H"), branch.id("R1")
    assert routes.is_sideways(before, goal)
    assert branch.id("R1") in routes.next_hops(goal).hops
    assert branch.id("R1") not in routes.next_hops(goal, before).hops
    assert not routes.is_sideways(numbered(2, 99), goal)


def test_a_bridge_comes_behind_the_destination_and_never_on_a_router() -> None:
    """MQBR-093."""
    enterprise = Enterprise.of("05")
    assert ask(enterprise, "W-app", "W-gate1") == (RoutingRule.DIRECT, ["W-gate1"])
    enterprise.topology = replace(enterprise.topology, bridge=True)
    rule, hops = ask(enterprise, "W-app", "W-gate1")
    assert (rule, hops[0], sorted(hops[1:])) == (RoutingRule.DIRECT, "W-gate1", ["W-gate2", "W-rs"])
    assert ask(enterprise, "W-rs", "W-app") == (RoutingRule.DIRECT, ["W-app"])


def test_a_destination_behind_in_routing_servers_is_never_connected_to_around_them() -> None:
    """MQBR-092."""
    enterprise = Enterprise.of("04")
    enterprise.topology = replace(enterprise.topology, bridge=True)
    assert "C3" not in ask(enterprise, "C1", "C3")[1]
    changed(enterprise, "C3", in_servers=(enterprise.id("RS2"),))
    assert ask(enterprise, "RS1", "C3") == (RoutingRule.IN_SERVER, ["RS2"])


def test_a_message_for_a_foreign_system_ends_at_its_connector_server() -> None:
    """MQBR-153, MQBR-171."""
    enterprise = Enterprise.of("07")
    assert ask(enterprise, "HQ-conn", "MQSERIES1") == (RoutingRule.CONNECTOR, [])
    rule, hops = ask(enterprise, "HQ-gate", "MQSERIES1")
    assert rule == RoutingRule.NEXT_GATE
    assert hops[0] == "HQ-conn"


def test_no_table_without_sites_or_links_or_for_a_manager_that_is_no_gate() -> None:
    """MQBR-020, MQBR-021, MQBR-022."""
    enterprise = Enterprise.of("05")
    assert Routes(enterprise.topology, enterprise.id("W-rs")).table == {}
    bare = replace(enterprise.topology, links=())
    assert Routes(bare, enterprise.id("W-gate1")).table == {}
    assert Routes(Topology(), enterprise.id("W-gate1")).table == {}


def test_a_changed_cost_changes_the_path() -> None:
    """MQBR-032, MQBR-033."""
    enterprise = Enterprise.of("05")
    east, mid = enterprise.id("east"), enterprise.id("mid")
    assert Routes(enterprise.topology, enterprise.id("W-gate1")).table[east] == mid
    links = tuple(
        replace(link, cost=1 if link.cost == 20 else link.cost)
        for link in enterprise.topology.links
    )
    topology = replace(enterprise.topology, links=links)
    assert Routes(topology, enterprise.id("W-gate1")).table[east] == east
    assert not Routes(replace(topology, links=()), enterprise.id("W-gate1")).is_gate


def test_decisions_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "DECISIONS_MAX", 3)
    enterprise = Enterprise.of("05")
    routes = Routes(enterprise.topology, enterprise.id("W-gate1"))
    goals: list[UUID] = list(enterprise.managers.values())
    first = [routes.next_hops(goal) for goal in goals]
    assert len(routes._decisions) <= 3
    assert [routes.next_hops(goal) for goal in goals] == first
