"""Topology files: what they say, and why they are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.routing import file
from openmsmq.routing.file import TopologyError, read_topology, split_address

GOOD = """\
[routing]
direct = "never"
bridge = true

[[sites]]
name = "hq"
[[sites]]
name = "branch"
id = "00000001-0000-4000-8000-000000000002"

[[links]]
site1 = "hq"
site2 = "branch"
cost = 10
gates = ["hq-gate"]

[[managers]]
name = "hq-gate"
id = "00000002-0000-4000-8000-000000000001"
sites = ["hq"]
router = true
address = "10.0.0.1:1801"

[[managers]]
name = "till"
id = "00000002-0000-4000-8000-000000000002"
sites = ["branch"]
out = ["hq-gate"]
"""


def test_a_file_is_read() -> None:
    found = read_topology(GOOD)
    assert (found.direct, found.bridge) == (False, True)
    assert sorted(site.name for site in found.sites.values()) == ["branch", "hq"]
    gate, till = found.managers.values()
    assert (gate.name, gate.router, gate.address) == ("hq-gate", True, "10.0.0.1:1801")
    assert till.out_servers == (gate.id,)
    (link,) = found.links
    assert (link.cost, link.gates) == (10, (gate.id,))


def test_a_site_without_an_identity_has_the_same_one_everywhere() -> None:
    one, other = read_topology(GOOD), read_topology(GOOD + "\n# another copy")
    assert one.sites == other.sites


def test_nothing_is_an_empty_topology() -> None:
    assert not read_topology("  \n").sites


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "cost = 10",
            "cost = 0",
            "line 14: cost: a whole number from 1 to 999999 is needed, not 0",
        ),
        ('site2 = "branch"', 'site2 = "brunch"', "line 13: site2: there is no site brunch"),
        ('site2 = "branch"', 'site2 = "hq"', "line 13: site2: a link from hq to itself"),
        ('site2 = "branch"', "", "line 11: site2 is missing in [[links]]"),
        ('gates = ["hq-gate"]', 'gates = ["till"]', "line 15: gates: till is no router"),
        ('gates = ["hq-gate"]', 'gates = ["no"]', "line 15: gates: there is no manager no"),
        ("router = true", "routr = true", "line 21: routr: no such key; did you mean router?"),
        ("router = true", "foreign = true", "line 28: out: hq-gate is no router"),
        ("router = true", "router = 1", "line 21: router: true or false is needed, not 1"),
        ('0002"\nsites', '0001"\nsites', "line 26: there are two managers with the id"),
        ('name = "till"', 'name = "hq-gate"', "line 25: there are two managers hq-gate"),
        ('name = "branch"', 'name = "hq"', "line 8: there are two sites hq"),
        ('sites = ["branch"]', "sites = []", "line 27: sites: at least one is needed"),
        ('sites = ["branch"]', 'sites = ["hq", "hq"]', "line 27: sites: a list without"),
        ('out = ["hq-gate"]', 'in = ["till"]', "line 28: in: till is no router"),
        ('address = "10.0.0.1:1801"', 'address = "a:b"', "line 22: address: a host, or host:port"),
        ('id = "00000001', 'id = "nonsense', "line 9: id: a GUID is needed"),
        ('direct = "never"', 'direct = "no"', "line 2: direct: one of auto, never is needed"),
        ("[[links]]", "[[lnks]]", "lnks: no such key; did you mean links?"),
        ("[routing]", "[routing", "(at line 1"),
        ("cost = 10", "cost = " + "1" * 5000, "a whole number with thousands of digits"),
        ("cost = 10", "cost = 0x" + "f" * 5000, "a whole number of more than 64 bits"),
        ('sites = ["hq"]\nrouter = true', 'sites = ["branch"]\nrouter = true', ""),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_reason(old: str, new: str, error: str) -> None:
    """DMPR-099"""
    assert old in GOOD
    text = (
        GOOD.replace(old, new, 1)
        if "0002" not in old
        else GOOD[::-1].replace(old[::-1], new[::-1], 1)[::-1]
    )
    if not error:
        assert read_topology(text).sites
        return
    with pytest.raises(TopologyError) as caught:
        read_topology(text)
    assert error in caught.value.detail


def test_a_gate_of_neither_site_and_a_foreign_router_are_refused() -> None:
    third = '[[sites]]\nname = "third"\n' + GOOD.replace('sites = ["hq"]', 'sites = ["third"]')
    with pytest.raises(TopologyError, match="hq-gate is in neither of the two sites"):
        read_topology(third)
    with pytest.raises(TopologyError, match="a foreign system cannot be a router"):
        read_topology(GOOD.replace("router = true", "router = true\nforeign = true"))


@pytest.mark.parametrize("text", ["sites = 1", "routing = 1", 'sites = ["a"]'])
def test_other_shapes_are_refused(text: str) -> None:
    with pytest.raises(TopologyError, match="line 1"):
        read_topology(text)


def test_files_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "FILE_SIZE_MAX", 20)
    with pytest.raises(TopologyError, match="more than 20 characters"):
        read_topology(GOOD + "\n")
    monkeypatch.undo()
    monkeypatch.setitem(file._COUNTS, "sites", 1)
    with pytest.raises(TopologyError, match="at most 1"):
        read_topology(GOOD + "\n\n")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("host", ("host", None)),
        ("host:1801", ("host", 1801)),
        ("::1", ("::1", None)),
        ("[::1]:1802", ("::1", 1802)),
        ("[::1]", ("::1", None)),
        ("host:", None),
        ("host:0", None),
        ("host:99999", None),
        ("host:x", None),
        ("", None),
        ("a b", None),
        ("a/b", None),
    ],
)
def test_addresses(address: str, found: tuple[str, int | None] | None) -> None:
    assert split_address(address) == found


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(TopologyError):
        read_topology(text)


@given(st.integers(0, len(GOOD)), st.integers(0, 30), st.text(max_size=20))
def test_any_damage_is_read_or_refused(place: int, length: int, text: str) -> None:
    with suppress(TopologyError):
        read_topology(GOOD[:place] + text + GOOD[place + length :])
