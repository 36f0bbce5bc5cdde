"""Posts requests over connections that are used again, and says what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from ssl import SSLContext
from types import MappingProxyType
from typing import Final, NamedTuple

import aiohttp
from yarl import URL

from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import PostResult
from openmsmq.transports.srmp.limits import (
    ANSWER_S,
    CLIENT_CONNECTIONS_MAX,
    CLIENT_CONNECTIONS_PER_HOST_MAX,
    CONNECT_S,
    KEEP_ALIVE_S,
    POSTS_MAX,
)

NO_PROXY: Final = "none"
_NOT_WRITTEN: Final = ("Accept", "Accept-Encoding", "User-Agent")


class DestinationSettings(NamedTuple):
    """How requests go to a host."""

    proxy: str | None = None
    "The URL of an HTTP proxy, `none`, or None for what the environment says."
    tls: SSLContext | None = None
    "The certificates to trust and our own; else those of the system are trusted."
    posts_max: int = POSTS_MAX
    "Messages of one outgoing queue that are posted at a time."


class ClientSettings(NamedTuple):
    """How requests go, for all hosts and for some."""

    usual: DestinationSettings = DestinationSettings()
    by_host: Mapping[str, DestinationSettings] = MappingProxyType({})
    "By `host` or `host:port`, in small letters."

    def of(self, host: str) -> DestinationSettings:
        """The settings of a host, as requests name it."""
        key = host.lower()
        name = key.partition("]")[0] + "]" if key.startswith("[") else key.partition(":")[0]
        return self.by_host.get(key) or self.by_host.get(name) or self.usual


class SrmpClient:
    """An HTTP client for messages: exact requests, no redirects, proxies."""

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        answer_s: float = ANSWER_S,
        connections_per_host: int = CLIENT_CONNECTIONS_PER_HOST_MAX,
    ) -> None:
        """A client is made inside of an event loop."""
        self._settings = settings or ClientSettings()
        self._connector = aiohttp.TCPConnector(
            limit=CLIENT_CONNECTIONS_MAX,
            limit_per_host=connections_per_host,
            keepalive_timeout=KEEP_ALIVE_S,
        )
        self._session = self._make(answer_s, trust_env=True)
        self._direct = self._make(answer_s, trust_env=False)

    def _make(self, answer_s: float, *, trust_env: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=self._connector,
            connector_owner=False,
            timeout=aiohttp.ClientTimeout(total=answer_s, sock_connect=CONNECT_S),
            skip_auto_headers=_NOT_WRITTEN,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=trust_env,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await self._direct.close()
        await self._connector.close()

    async def post(self, request: Request, *, is_secure: bool = False) -> PostResult:
        """Post a request and wait for its answer ([MC-MQSRM] 3.1.7.2.5).

        The content of the answer means nothing and is not read; a redirect is not followed, for the
        message is for this host.
        """
        scheme = "https" if is_secure else "http"
        url = URL(f"{scheme}://{request.host}{request.target}", encoded=True)
        settings = self._settings.of(request.host)
        session = self._session if settings.proxy is None else self._direct
        try:
            async with session.post(
                url,
                data=request.content,
                headers=list(request.headers),
                allow_redirects=False,
                proxy=None if settings.proxy == NO_PROXY else settings.proxy,
                ssl=True if settings.tls is None else settings.tls,
            ) as response:
                return PostResult(response.status)
        except TimeoutError:
            return PostResult(None, f"no answer from {request.host} in time")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return PostResult(None, f"{type(error).__name__}: {error}")
