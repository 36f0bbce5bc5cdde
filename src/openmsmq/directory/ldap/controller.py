"""Where a domain controller is, and the ways to log on to it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from openmsmq.errors import InvalidParameter

PORTS: Final = {"ldap": 389, "ldaps": 636}
LOGIN_KINDS: Final = ("password", "ntlm", "kerberos")
CATALOG_PORTS: Final = {"ldap": 3268, "ldaps": 3269}
"Where the same controller has the global catalog ([MS-ADTS] 3.1.1.3.1.12)."
_DOMAIN: Final = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+", re.IGNORECASE)
_NETBIOS_NAME_SIZE: Final = 15
"Characters that a NetBIOS name has at most."


class Controller(NamedTuple):
    """Where a domain controller is."""

    host: str
    port: int
    tls: bool

    @classmethod
    def parse(cls, url: str) -> Controller:
        """`ldap://dc1.example.com` or `ldaps://dc1:636`; `InvalidParameter`."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise InvalidParameter(f"{url}: {error}") from None
        if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
            raise InvalidParameter(f"{url}: ldap://HOST or ldaps://HOST is needed")
        return cls(parts.hostname, port or PORTS[parts.scheme], parts.scheme == "ldaps")

    @property
    def catalog(self) -> Controller:
        """The global catalog of the same controller."""
        return self._replace(port=CATALOG_PORTS["ldaps" if self.tls else "ldap"])

    @property
    def netbios_name(self) -> str:
        """Its name of 1 to 15 characters ([MS-MQMP] 3.1.4.23); empty if it is known by none."""
        first = self.host.split(".")[0].upper()
        is_address = ":" in self.host or self.host.replace(".", "").isdigit()
        return "" if is_address or len(first) > _NETBIOS_NAME_SIZE else first

    def __str__(self) -> str:
        return f"{'ldaps' if self.tls else 'ldap'}://{self.host}:{self.port}"


class Domain(NamedTuple):
    """A domain whose controllers are found by DNS."""

    name: str

    def __str__(self) -> str:
        return self.name


def parse_place(text: str) -> Controller | Domain:
    """`ldap://dc1.example.com` is a controller, `example.com` a domain; `InvalidParameter`."""
    if _DOMAIN.fullmatch(text):
        return Domain(text)
    if "://" not in text:
        raise InvalidParameter(f"{text}: ldap://HOST, or the DNS name of a domain is needed")
    return Controller.parse(text)
