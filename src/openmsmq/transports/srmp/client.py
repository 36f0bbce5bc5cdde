"""Posts requests over connections that are used again, and says what was answered."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Mapping
from ssl import SSLContext, create_default_context
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from openmsmq.soap.request import Request
from openmsmq.transports.srmp.connections import Connections, Place
from openmsmq.transports.srmp.exchange import PostResult
from openmsmq.transports.srmp.limits import (
    ANSWER_S,
    CLIENT_CONNECTIONS_MAX,
    CLIENT_CONNECTIONS_PER_HOST_MAX,
    CONNECT_S,
    KEEP_ALIVE_S,
    POSTS_MAX,
    WAYS_MAX,
)

NO_PROXY: Final = "none"
_NOT_WRITTEN: Final = ("Accept", "Accept-Encoding", "User-Agent")
_NOT_IN_HOST: Final = re.compile(r"[\x00-\x20\x7f]")


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
        keep_alive_s: float = KEEP_ALIVE_S,
        connections_per_host: int = CLIENT_CONNECTIONS_PER_HOST_MAX,
    ) -> None:
        """A client is made inside of an event loop."""
        self._settings = settings or ClientSettings()
        self._answer_s = answer_s
        self._keep_alive_s = keep_alive_s
        self._per_host_max = connections_per_host
        self._connections = Connections(CLIENT_CONNECTIONS_MAX, connections_per_host, keep_alive_s)
        self._by_proxy: aiohttp.ClientSession | None = None
        self._system_tls: SSLContext | None = None
        self._ways: dict[tuple[str, str], _Way] = {}
        "By scheme and host, as requests name it."

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()
        if self._by_proxy is not None:
            await self._by_proxy.close()

    async def post(self, request: Request, *, is_secure: bool = False) -> PostResult:
        """Post a request and wait for its answer ([MC-MQSRM] 3.1.7.2.5).

        The content of the answer means nothing and is not read; a redirect is not followed, for the
        message is for this host.
        """
        try:
            way = self._way("https" if is_secure else "http", request.host)
            if way.proxy is not None:
                return PostResult(await self._post_by_proxy(request, way))
            async with asyncio.timeout(self._answer_s):
                return PostResult(await self._connections.post(way.place, request.encode()))
        except TimeoutError:
            return PostResult(None, f"no answer from {request.host} in time")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return PostResult(None, f"{type(error).__name__}: {error}")

    async def _post_by_proxy(self, request: Request, way: _Way) -> int:
        if self._by_proxy is None:
            self._by_proxy = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=CLIENT_CONNECTIONS_MAX,
                    limit_per_host=self._per_host_max,
                    keepalive_timeout=self._keep_alive_s,
                ),
                timeout=aiohttp.ClientTimeout(total=self._answer_s, sock_connect=CONNECT_S),
                skip_auto_headers=_NOT_WRITTEN,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        scheme = "http" if way.place.tls is None else "https"
        async with self._by_proxy.post(
            URL(f"{scheme}://{request.host}{request.target}", encoded=True),
            data=request.content,
            headers=[*request.headers, *way.headers],
            allow_redirects=False,
            proxy=way.proxy,
            proxy_headers=way.proxy_headers,
            ssl=way.place.tls or True,
        ) as response:
            return response.status

    def _way(self, scheme: str, host: str) -> _Way:
        """How requests go to a host; the environment is asked once for each."""
        way = self._ways.get((scheme, host))
        if way is None:
            if _NOT_IN_HOST.search(host):
                raise ValueError(f"{host!r:.60} is no host")
            settings = self._settings.of(host)
            proxy = settings.proxy
            if proxy is None:
                proxy = _proxy_of_environment(scheme, host)
            if len(self._ways) >= WAYS_MAX:
                self._ways.clear()
            tls = None if scheme == "http" else settings.tls or self._trust_system()
            url = URL(f"{scheme}://{host}", encoded=True)
            place = Place(url.host or host, url.port or 0, tls)
            way = _Way.by(None if proxy == NO_PROXY else proxy, place)
            self._ways[scheme, host] = way
        return way

    def _trust_system(self) -> SSLContext:
        """The certificates of the system, which are read once."""
        if self._system_tls is None:
            self._system_tls = create_default_context()
        return self._system_tls


class _Way(NamedTuple):
    """Where a host is, and a proxy, without its password, which goes in a header."""

    place: Place
    proxy: URL | None = None
    proxy_headers: Mapping[str, str] | None = None
    "Headers of the request that makes the proxy connect to a host."
    headers: tuple[tuple[str, str], ...] = ()
    "Headers for the proxy in a request that it passes on."

    @classmethod
    def by(cls, proxy: str | None, place: Place) -> _Way:
        """The way by a proxy, whose URL may have a user and a password."""
        if proxy is None:
            return cls(place)
        url = URL(proxy)
        if url.user is None:
            return cls(place, url)
        login = b64encode(f"{url.user}:{url.password or ''}".encode()).decode("ascii")
        header = ("Proxy-Authorization", f"Basic {login}")
        if place.tls is not None:
            return cls(place, url.with_user(None), dict([header]))
        return cls(place, url.with_user(None), None, (header,))


def _proxy_of_environment(scheme: str, host: str) -> str:
    """The proxy that the environment names (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`)."""
    return NO_PROXY if proxy_bypass(host) else getproxies().get(scheme, NO_PROXY)
