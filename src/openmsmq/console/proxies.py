"""Logins by a proxy: single sign-on in front of the console.

The proxy logs people in, by OpenID Connect or otherwise, and names them in a header. That header is
believed only if it comes from an address of the proxy, with the secret that both know. A person
has the rights of a token, which the managers know as they know every other.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from openmsmq.console.filters import is_like
from openmsmq.console.limits import PERSON_MAX
from openmsmq.console.problems import RequestRefused

SECRET_HEADER: Final = "X-OpenMSMQ-Proxy"  # noqa: S105  # its name
"The header in which a proxy shows the secret."


@dataclass(frozen=True, slots=True)
class LoginProxy:
    """The proxy of a console."""

    addresses: frozenset[str]
    header: str
    users: Mapping[str, Path]
    "Files with tokens, by patterns of names; the first that fits counts."
    secret: bytes | None

    def person(self, request: web.Request) -> str | None:
        """Who the proxy says that it is; None if the request does not come from it."""
        name = request.headers.get(self.header, "").strip()
        if not name or request.remote not in self.addresses:
            return None
        shown = request.headers.get(SECRET_HEADER, "").encode()
        if self.secret is not None and not hmac.compare_digest(shown, self.secret):
            return None
        if len(name) > PERSON_MAX or not name.isprintable():
            raise RequestRefused(400, f"{self.header}: 1 to {PERSON_MAX} printable characters")
        return name

    def token_of(self, person: str) -> str:
        """The token of a person; the file is read again each time, since tokens are replaced."""
        for pattern, path in self.users.items():
            if is_like(person, pattern):
                try:
                    return path.read_text().strip()
                except (OSError, UnicodeDecodeError) as error:
                    raise RequestRefused(
                        403, f"the token of {person!r} cannot be read: {error}"
                    ) from error
        raise RequestRefused(403, f"{person!r} may not use this console", "ask who runs it")
