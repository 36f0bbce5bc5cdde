"""Asks DNS for the servers of a service (RFC 2782), by the name servers of this computer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from openmsmq.directory.ldap.tree import ConnectionFailed
from openmsmq.directory.limits import DNS_WITHIN

MISSING: Final = "this needs the package dnspython: pip install 'openmsmq[directory]'"


class ServiceRecord(NamedTuple):
    """A server of a service."""

    host: str
    port: int


async def find_services(
    name: str, servers: Sequence[tuple[str, int]] | None = None
) -> list[ServiceRecord]:
    """The servers of a service in the order in which they are tried; none if there are none.

    That is by priority, then by chance and weight (RFC 2782). `ConnectionFailed` if no name server
    answers in time.
    """
    try:
        from dns.asyncresolver import Resolver
        from dns.exception import DNSException
        from dns.nameserver import Do53Nameserver
        from dns.rdtypes.IN.SRV import SRV
        from dns.resolver import NXDOMAIN
    except ImportError:
        raise ConnectionFailed(f"DNS cannot be asked for {name}: {MISSING}") from None
    try:
        resolver = Resolver(configure=servers is None)
        if servers is not None:
            resolver.nameservers = [Do53Nameserver(*server) for server in servers]
        answer = await resolver.resolve(
            name, "SRV", search=False, raise_on_no_answer=False, lifetime=DNS_WITHIN
        )
    except NXDOMAIN:
        return []
    except (DNSException, OSError) as error:
        raise ConnectionFailed(f"DNS was asked for {name}: {error}") from error
    return [
        ServiceRecord(one.target.to_text(omit_final_dot=True), one.port)
        for one in (answer.rrset.processing_order() if answer.rrset is not None else ())
        if isinstance(one, SRV) and one.target.to_text() != "." and one.port
    ]
