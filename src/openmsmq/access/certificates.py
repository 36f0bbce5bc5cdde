"""Certificates: what programs may do that show one of their own, and no token.

`tls.clients` maps names of certificates to rights. That a certificate is one of `tls.client_ca` was
checked before, when the connection was made; alone it gives no rights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from openmsmq.access.tokens import normal_pattern
from openmsmq.errors import InvalidParameter
from openmsmq.toml import table_schema, value
from openmsmq.types.caller import RIGHTS, Grant, role_of

COMMON_NAME: Final = "CN="
DNS_NAME: Final = "DNS="
_RIGHTS_SCHEMA: Final = {"type": "array", "minItems": 1, "items": {"enum": list(RIGHTS)}}
_GRANT_SCHEMAS: Final = {
    "rights": _RIGHTS_SCHEMA,
    "queues": {"type": "array", "minItems": 1, "items": {"type": "string"}},
}


class Certificates:
    """The rights that names of certificates have now."""

    def __init__(self, entries: Mapping[str, Grant]) -> None:
        """`entries` are as `read_clients` gives them."""
        self.entries = entries

    def check(self, names: Collection[str]) -> Grant | None:
        """What the holder of a certificate may do: what the first entry for one of its names says.

        None if there is no such entry.
        """
        return next((grant for name, grant in self.entries.items() if name in names), None)

    def has(self, grant: Grant) -> bool:
        """Whether an entry still gives what it gave."""
        return self.entries.get(grant.certificate) == grant


def certificate_names(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a certificate, as `ssl` shows it: each CN of its subject, each DNS name."""
    return tuple(_names(certificate))


def _names(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        yield from (f"{COMMON_NAME}{name}" for key, name in part if key == "commonName")
    for kind, name in certificate.get("subjectAltName", ()):
        if kind == "DNS":
            yield f"{DNS_NAME}{name.lower()}"


@value(
    {
        "type": "object",
        "propertyNames": {"pattern": f"^({COMMON_NAME}|{DNS_NAME})."},
        "additionalProperties": {
            "anyOf": [_RIGHTS_SCHEMA, table_schema(_GRANT_SCHEMAS, ["rights"])]
        },
    }
)
def read_clients(given: object) -> dict[str, Grant]:
    """What `tls.clients` says; `ValueError` in words if that makes no sense.

    A list of rights, for all queues, or a table with `rights` and with `queues`, patterns of names.
    """
    if isinstance(given, dict):
        names = [_normal_name(key) for key in given]
        if len(set(names)) == len(names):
            return dict(zip(names, map(_grant, names, given.values()), strict=True))
    raise ValueError("a table of different names and their rights is needed")


def _normal_name(key: str) -> str:
    for prefix in (COMMON_NAME, DNS_NAME):
        if key.startswith(prefix) and key != prefix:
            return key.lower().replace(prefix.lower(), prefix, 1) if prefix == DNS_NAME else key
    raise ValueError(f'"{COMMON_NAME}common name" or "{DNS_NAME}host name" is needed as a name')


def _grant(name: str, given: object) -> Grant:
    table = {"rights": given} if isinstance(given, list) else given
    if not isinstance(table, dict) or not {"rights"} <= set(table) <= set(_GRANT_SCHEMAS):
        raise ValueError(f"{name}: a list of rights, or a table with rights and queues is needed")
    rights, queues = table["rights"], table.get("queues", [])
    if not (isinstance(rights, list) and rights and all(right in RIGHTS for right in rights)):
        raise ValueError(f"{name}: a list of {', '.join(RIGHTS)} is needed as rights")
    if not (isinstance(queues, list) and all(isinstance(queue, str) for queue in queues)):
        raise ValueError(f"{name}: a list of patterns is needed as queues")
    if "queues" in table and not queues:
        raise ValueError(f"{name}: queues names none; leave it out for all queues")
    try:
        patterns = tuple(map(normal_pattern, queues))
    except InvalidParameter as error:
        raise ValueError(f"{name}: {error.detail}") from None
    return Grant(role_of(rights), patterns, certificate=name)
