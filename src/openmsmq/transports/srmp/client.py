"""Posts requests over connections that are used again, and says what was answered."""

from __future__ import annotations

from ssl import SSLContext
from typing import Final

import aiohttp
from yarl import URL

from openmsmq.transports.srmp.exchange import PostResult, Request
from openmsmq.transports.srmp.limits import (
    ANSWER_S,
    CLIENT_CONNECTIONS_MAX,
    CLIENT_CONNECTIONS_PER_HOST_MAX,
    CONNECT_S,
    KEEP_ALIVE_S,
)

_NOT_WRITTEN: Final = ("Accept", "Accept-Encoding", "User-Agent")


class SrmpClient:
    """An HTTP client for messages: exact requests, no redirects, proxies of the environment."""

    def __init__(
        self,
        *,
        tls: SSLContext | None = None,
        answer_s: float = ANSWER_S,
        connections_per_host: int = CLIENT_CONNECTIONS_PER_HOST_MAX,
    ) -> None:
        """`tls` has the certificates to trust and our own; else those of the system are trusted.

        A client is made inside of an event loop.
        """
        connector = aiohttp.TCPConnector(
            ssl=True if tls is None else tls,
            limit=CLIENT_CONNECTIONS_MAX,
            limit_per_host=connections_per_host,
            keepalive_timeout=KEEP_ALIVE_S,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=answer_s, sock_connect=CONNECT_S),
            skip_auto_headers=_NOT_WRITTEN,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def post(self, request: Request, *, is_secure: bool = False) -> PostResult:
        """Post a request and wait for its answer ([MC-MQSRM] 3.1.7.2.5).

        The content of the answer means nothing and is not read; a redirect is not followed, for the
        message is for this host.
        """
        scheme = "https" if is_secure else "http"
        url = URL(f"{scheme}://{request.host}{request.target}", encoded=True)
        try:
            async with self._session.post(
                url,
                data=request.content,
                headers=list(request.headers),
                allow_redirects=False,
            ) as response:
                return PostResult(response.status)
        except TimeoutError:
            return PostResult(None, f"no answer from {request.host} in time")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return PostResult(None, f"{type(error).__name__}: {error}")
