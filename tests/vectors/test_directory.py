"""Searches that were recorded with a Samba domain controller find the same here."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, FOLDER, example

from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.filters import equal, parse_filter
from openmsmq.directory.ldap.tree import LdapError, SearchScope
from openmsmq.directory.memory import MemoryTree

CHECKS = json.loads((FOLDER / "searches.json").read_text())["checks"]
ELSEWHERE = ("NEWBOX", "Extended-Rights", "a digest that two users", "objectClass=user finds")
"Searches about objects that other tests of the recording made, or that Samba has by itself."


def usable(check: dict[str, Any]) -> bool:
    text = f"{check['what']} {check.get('base')}"
    return bool(check.get("base")) and "filter" in check and not any(x in text for x in ELSEWHERE)


USABLE = [check for check in CHECKS if usable(check)]


@cache
def recorded() -> dict[str, str]:
    """The identifiers of the recorded directory, by the key of the name."""
    found = {}
    for check in CHECKS:
        for row in check.get("first", ()):
            for kind in ("objectGUID", "objectSid"):
                if row.get(kind):
                    found[f"{kind} {names.key(row['dn'])}"] = row[kind][0].removeprefix("hex:")
    return found


def _escaped(raw: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in raw)


async def translated(tree: MemoryTree, text: str) -> str:
    """A filter or base with the identifiers that objects have here."""
    rows = await tree.search(BASE, SearchScope.SUBTREE)
    rows += await tree.search(BASE, SearchScope.SUBTREE, equal("objectClass", "site"))
    for row in rows:
        for kind in ("objectGUID", "objectSid"):
            theirs = recorded().get(f"{kind} {names.key(row.name)}")
            ours = row.first(kind)
            if theirs is None or ours is None or "..." in theirs:
                continue
            raw = bytes.fromhex(theirs)
            text = text.replace(_escaped(raw), _escaped(ours)).replace(raw.hex(), ours.hex())
            if kind == "objectGUID":
                text = text.replace(str(UUID(bytes_le=raw)), str(UUID(bytes_le=ours)))
    return text


@pytest.mark.parametrize("check", USABLE, ids=lambda check: check["what"])
def test_a_recorded_search_finds_as_many(check: dict[str, Any]) -> None:
    """MQDS-245, MQDS-028, MQDS-031"""

    async def run() -> tuple[int, int]:
        tree = await example()
        base = await translated(tree, check["base"])
        condition = parse_filter(await translated(tree, check["filter"]))
        scope = SearchScope[check["scope"]]
        try:
            return 0, len(await tree.search(base, scope, condition, check["attributes"]))
        except LdapError as error:
            return error.code, 0

    assert asyncio.run(run()) == (check["result"], check["count"])


def test_most_searches_are_used() -> None:
    assert len(USABLE) >= 40
