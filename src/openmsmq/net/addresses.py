"""What IP addresses say about who can reach them."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(address: str) -> bool:
    """Whether an address is one that only this computer reaches; a name is not."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
